// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

TEST(Full, HasOneValue) {
    for (DType dtype : all_types) {
        Tensor y = ops::full({.shape = {2, 3}, .value = 1, .dtype = dtype});
        EXPECT_EQ(y.spec(), (TensorSpec{dtype, {2, 3}, {}}));
        EXPECT_THAT(values_of(y), testing::Each(1));
        EXPECT_THAT(values_of(ops::full_like(y, {.value = 0})), testing::Each(0));
        EXPECT_EQ(ops::full_like(y).spec(), y.spec());
    }
    EXPECT_THAT(values_of(ops::full({.value = -2.5})), ElementsAre(-2.5));
    EXPECT_EQ(ops::full({.shape = {0, 3}}).shape(), (Shape{0, 3}));
    Tensor large = ops::full({.shape = {300000}, .value = 3});
    EXPECT_THAT(values_of(large), testing::Each(3));
    Tensor target = make_tensor(DType::i32, {2}, {1, 4});
    EXPECT_EQ(ops::full(target, {.value = 1}).shape(), (Shape{1, 4}));
    for (DType dtype : all_types) check_op<ops::Full>({.shape = {3}, .value = 2, .dtype = dtype}, {});
    check_op<ops::FullLike>({.value = 2}, {{.shape = {3, 0}}});
    check_op<ops::FullLike>({.value = 1}, {{.shape = {3, 2}}}, {.dtypes = all_types});
    expect_user_error(ErrorClass::type, "[full] needs a dtype", [] { ops::full({.dtype = DType::none}); });
    expect_user_error(ErrorClass::value, "[shape] extent -1 is negative",
                      [] { ops::full({.shape = IntList{-1}}); });
}

TEST(Arange, EndsBeforeStop) {
    EXPECT_THAT(values_of(ops::arange({.stop = 3})), ElementsAre(0, 1, 2));
    EXPECT_THAT(values_of(ops::arange({.start = 1, .stop = 10, .step = 3})), ElementsAre(1, 4, 7));
    EXPECT_THAT(values_of(ops::arange({.start = 3, .stop = 0, .step = -2})), ElementsAre(3, 1));
    EXPECT_EQ(ops::arange({.start = 0.5, .stop = 3.2, .step = 0.4}).shape(), (Shape{7}));
    EXPECT_EQ(ops::arange({.start = 3, .stop = 3}).shape(), (Shape{0}));
    EXPECT_EQ(ops::arange({.start = 0, .stop = -1}).shape(), (Shape{0}));
    for (DType dtype : number_types)
        EXPECT_THAT(values_of(ops::arange({.stop = 3, .dtype = dtype})), ElementsAre(0, 1, 2));
    expect_user_error(ErrorClass::runtime, "[arange] start 0, stop 5, step 0 do not give a finite list",
                      [] { ops::arange({.stop = 5, .step = 0}); });
    expect_user_error(ErrorClass::type, "[arange] needs a dtype of numbers",
                      [] { ops::arange({.stop = 5, .dtype = DType::boolean}); });
}

TEST(Arange, ReachesAllIntegers) {
    Tensor large = ops::arange({.start = 0x1p63, .stop = 0x1p63 + 8192, .step = 4096, .dtype = DType::u64});
    EXPECT_EQ(large.data<uint64_t>()[1], (uint64_t(1) << 63) + 4096);
    EXPECT_EQ(
        ops::arange({.start = 1e30, .stop = 2e30, .step = 1e30, .dtype = DType::i64}).data<int64_t>()[0],
        INT64_MIN);
}

Tensor number(DType dtype, double value) { return make_tensor(dtype, {}, {value}); }

TEST(Arange, AcceptsTensorBounds) {
    using P = ops::Arange::Params;
    Tensor none;
    EXPECT_THAT(values_of(ops::arange(number(DType::i32, 1), number(DType::f32, 4.5), none, P{})),
                ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(values_of(ops::arange(none, number(DType::f32, 3), none, P{.start = 1})), ElementsAre(1, 2));
    EXPECT_THAT(values_of(ops::arange(none, none, number(DType::f16, -0.5), P{.start = 1})),
                ElementsAre(1, 0.5));
    expect_user_error(ErrorClass::value, "[arange] last must be one number, got float32(2,)", [&] {
        ops::arange(none, make_tensor(DType::f32, {2}, {1, 2}), none, P{});
    });
    expect_user_error(ErrorClass::runtime, "[arange] start 0, stop nan, step 1 do not give a finite list",
                      [&] { ops::arange(none, number(DType::f32, std::nan("")), none, P{}); });
}

// It is unknown before the run.
TEST(Arange, AcceptsGraphValueBound) {
    GraphBuilder builder;
    Tensor last = builder.input({DType::f32, {}, {}}, "last");
    {
        InterpreterScope scope(builder);
        builder.set_outputs({ops::arange(Tensor(), last, Tensor(), ops::Arange::Params{.start = 1})});
    }
    Executable executable(builder.take(), {});
    EXPECT_THAT(values_of(executable.run(Tensors{number(DType::f32, 3)})[0]), ElementsAre(1, 2));
    EXPECT_THAT(values_of(executable.run(Tensors{number(DType::f32, 5)})[0]), ElementsAre(1, 2, 3, 4));
}

TEST(Linspace, RefusesBools) {
    Tensor yes = tensor_of<bool>({1}, {true}), none;
    expect_user_error(ErrorClass::type, "[linspace] first must be one number, got bool(1,)",
                      [&] { ops::linspace(yes, none, none, ops::Linspace::Params{}); });
    expect_user_error(ErrorClass::type, "[linspace] count must be one number, got bool(1,)",
                      [&] { ops::linspace(none, none, yes, ops::Linspace::Params{}); });
}

TEST(Linspace, RefusesInvalidCounts) {
    Tensor none;
    expect_user_error(
        ErrorClass::value, text("[linspace] num is ", INT64_MIN, ", it must not be negative"),
        [&] { ops::linspace(none, none, make_tensor(DType::f32, {}, {1e30}), ops::Linspace::Params{}); });
}

TEST(Linspace, AcceptsTensorBounds) {
    using P = ops::Linspace::Params;
    Tensor none;
    EXPECT_THAT(values_of(ops::linspace(number(DType::i32, 1), none, none, P{.stop = 3, .num = 3})),
                ElementsAre(1, 2, 3));
    EXPECT_THAT(values_of(ops::linspace(none, number(DType::f32, -1), number(DType::i32, 2), P{})),
                ElementsAre(0, -1));
    for (DType dtype : number_types)
        check_op<ops::Linspace>({.stop = 4, .num = 5},
                                {{.shape = {}, .dtype = dtype}, {.shape = {1}, .dtype = dtype}},
                                {.gradient = dtype == DType::f32});
    expect_user_error(ErrorClass::value, "[linspace] first must be one number, got float32(2,)", [&] {
        ops::linspace(make_tensor(DType::f32, {2}, {1, 2}), none, none, P{});
    });
    expect_user_error(ErrorClass::value, "[linspace] num is -2, it must not be negative",
                      [&] { ops::linspace(none, none, number(DType::i32, -2), P{}); });
}

TEST(Linspace, IncludesBothEnds) {
    EXPECT_THAT(values_of(ops::linspace({.start = 10, .stop = -2, .num = 4})), ElementsAre(10, 6, 2, -2));
    EXPECT_THAT(values_of(ops::linspace({.start = 3, .stop = 9, .num = 1})), ElementsAre(3));
    EXPECT_EQ(ops::linspace({.num = 0}).shape(), (Shape{0}));
    expect_user_error(ErrorClass::value, "[linspace] num is -1, it must not be negative",
                      [] { ops::linspace({.num = -1}); });
}

TEST(Eye, HasADiagonal) {
    for (DType dtype : all_types)
        EXPECT_THAT(values_of(ops::eye({.n = 2, .m = 3, .dtype = dtype})), ElementsAre(1, 0, 0, 0, 1, 0));
    EXPECT_THAT(values_of(ops::eye({.n = 2})), ElementsAre(1, 0, 0, 1));
    EXPECT_EQ(ops::eye({.n = 0}).shape(), (Shape{0, 0}));
    expect_user_error(ErrorClass::value, "[eye] -1 rows and -1 columns: counts must not be negative",
                      [] { ops::eye({.n = -1}); });
    expect_user_error(ErrorClass::type, "[eye] needs a dtype",
                      [] { ops::eye({.n = 1, .dtype = DType::none}); });
}

}  // namespace
}  // namespace mge::test
