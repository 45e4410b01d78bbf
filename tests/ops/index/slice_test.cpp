// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

constexpr int64_t absent = ops::absent_bound, given = ops::bound_from_input;

Tensor numbers(int64_t n) { return ops::arange({.stop = double(n)}); }
Tensor int_vector(std::vector<double> values) {
    return make_tensor(DType::i32, {int64_t(values.size())}, values);
}

// Items that every operator of the family is tried with, on a tensor of shape (3, 4, 5).
const std::vector<IntList> all_items{
    {},
    {0, 1, 3, 1, 0},
    {1, absent, absent, -1, 0},
    {2, 4, 0, -2, 0},
    {0, 2, 0, 1, 1},
    {-1, -1, 0, 1, 1, 0, absent, absent, -2, 0},
    {0, 1, 0, 1, 1, 1, 2, 0, 1, 1, 2, 3, 0, 1, 1},
    {1, 3, 3, 1, 0},
    {2, -100, 100, 2, 0},
    {2, 100, -100, -2, 0},
    {0, 0, absent, INT64_MAX, 0},
};

Shape places_of(const IntList& items) {
    return ops::shape_of_ranges(ops::ranges_of("test", items, {3, 4, 5}));
}

TEST(Slice, RegularPlaces) {
    for (auto& items : all_items) check_op<ops::Slice>({.items = items}, {{.shape = {3, 4, 5}}});
    check_op<ops::Slice>({.items = {1, 1, 3, 1, 0}}, {{.shape = {3, 4}}}, {.dtypes = all_types});
    check_op<ops::Slice>({.items = {0, 1, 5, 1, 0}}, {{.shape = {0, 3}}});
    check_op<ops::Slice>({.items = {6, 0, 2, 1, 0, 0, 1, 0, 1, 1}}, {{.shape = {2, 1, 3, 2, 1, 2, 3}}});
    check_op<ops::Slice>({}, {{.shape = {}}});
    EXPECT_THAT(values_of(ops::slice(numbers(6), {.items = {0, absent, absent, -1, 0}})),
                ElementsAre(5, 4, 3, 2, 1, 0));
    EXPECT_THAT(values_of(ops::slice(numbers(6), {.items = {0, -2, 0, -2, 0}})), ElementsAre(4, 2));
    EXPECT_THAT(values_of(ops::slice(numbers(6), {.items = {0, 1, -1, 3, 0}})), ElementsAre(1, 4));
}

TEST(Slice, BoundsFromTensors) {
    Tensor x = numbers(6);
    ops::Slice::Params params{.items = {0, given, given, given, 0}};
    EXPECT_THAT(values_of(ops::slice({x, int_vector({4, 1}), int_vector({-2})}, params)), ElementsAre(4, 2));
    check_op<ops::Slice>({.items = {0, given, absent, 1, 0, 1, given, 0, 1, 1}},
                         {{.shape = {3, 4}}, {.shape = {2}, .dtype = DType::i32, .values = {1, -1}}});
    check_op<ops::SetSlice>(
        {.items = {0, given, absent, 1, 0}},
        {{.shape = {3, 4}}, {.shape = {2, 4}}, {.shape = {}, .dtype = DType::i32, .values = {1}}});
}

TEST(SetSlice, ReplacesAndAdds) {
    for (auto& items : all_items) {
        Shape places = places_of(items);
        for (Shape value : {places, Shape{}, Shape{1}}) {
            check_op<ops::SetSlice>({.items = items}, {{.shape = {3, 4, 5}}, {.shape = value}});
            check_op<ops::AddSlice>({.items = items}, {{.shape = {3, 4, 5}}, {.shape = value}});
        }
    }
    ops::Slice::Params some{.items = {1, 1, 3, 1, 0}};
    check_op<ops::SetSlice>(some, {{.shape = {3, 4}}, {.shape = {3, 1}}}, {.dtypes = all_types});
    check_op<ops::AddSlice>(some, {{.shape = {3, 4}}, {.shape = {3, 1}}}, {.dtypes = number_types});
    check_op<ops::SetSlice>(some, {{.shape = {3, 4}}, {.shape = {1, 1, 2}}});
    check_op<ops::SetSlice>({}, {{.shape = {}}, {.shape = {}}});
    check_op<ops::SetSlice>({.items = {0, 0, 0, 1, 0}}, {{.shape = {3}}, {.shape = {0}}});
}

TEST(SetSlice, ConvertsTheValueToTheDtypeOfX) {
    Tensor x = int_vector({1, 2, 3});
    Tensor value = make_tensor(DType::f32, {}, {7.75});
    Tensor y = ops::set_slice(x, value, {.items = {0, 1, 2, 1, 0}});
    EXPECT_EQ(y.dtype(), DType::i32);
    EXPECT_THAT(values_of(y), ElementsAre(1, 7, 3));
    EXPECT_THAT(values_of(x), ElementsAre(1, 2, 3));
    EXPECT_THAT(values_of(ops::add_slice(x, value, {.items = {0, 1, 2, 1, 0}})), ElementsAre(1, 9, 3));
}

TEST(Slice, NamesMismatchedShapes) {
    Tensor x = ops::full({.shape = {3, 4}});
    auto expect = [&](ErrorClass kind, const char* message, IntList items) {
        expect_user_error(kind, message, [&] { ops::slice(x, {.items = items}); });
    };
    expect(ErrorClass::index, "[slice] index 3 is out of range for axis 0 with size 3", {0, 3, 0, 1, 1});
    expect(ErrorClass::index, "[slice] index -5 is out of range for axis 1 with size 4", {1, -5, 0, 1, 1});
    expect(ErrorClass::value, "[slice] axis 2 is out of range for rank 2", {2, 0, 1, 1, 0});
    expect(ErrorClass::value, "[slice] axis 1 is indexed twice", {1, 0, 1, 1, 0, -1, 0, 1, 1, 0});
    expect(ErrorClass::value, "[slice] a slice step must not be 0", {0, 0, 1, 0, 0});
    expect(ErrorClass::value, "[slice] items has 3 numbers, not five per axis", {0, 1, 2});
    expect(ErrorClass::value, "[slice] `bounds` has fewer values than `items` refers to",
           {0, given, 2, 1, 0});
    expect_user_error(ErrorClass::value, "[slice] `bounds` has 2 values, `items` takes 1", [&] {
        ops::slice({x, int_vector({1, 2})}, {.items = {0, given, 2, 1, 0}});
    });
    expect_user_error(ErrorClass::value,
                      "[set_slice] value of shape (3,) does not broadcast to the indexed shape (2, 4)", [&] {
                          ops::set_slice(x, numbers(3), {.items = {0, 0, 2, 1, 0}});
                      });
    expect_user_error(ErrorClass::type, "[add_slice] bool has no sum", [] {
        Tensor b = make_tensor(DType::boolean, {1}, {1});
        ops::add_slice(b, b);
    });
}

}  // namespace
}  // namespace mge::test
