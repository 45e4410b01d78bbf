// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

struct Case {
    Shape shape;
    IntList axes;
    bool keepdims = false;
};
// Inner, outer, middle, several groups of axes, all of them, empty ones.
const std::vector<Case> cases{{{}, {}},
                              {{7}, {}},
                              {{3, 17}, {1}},
                              {{3, 17}, {-1}, true},
                              {{3, 17}, {0}},
                              {{2, 5, 19}, {1}},
                              {{2, 5, 19}, {0, 2}},
                              {{2, 5, 19}, {0, 2}, true},
                              {{4, 1, 3}, {1}},
                              {{3, 2, 4, 5}, {0, 2}},
                              {{5, 0}, {0}},
                              {{1, 1}, {}},
                              {{6, 1031}, {1}},
                              {{1031, 3}, {0}},
                              {{2, 3, 2, 3, 2}, {0, 2, 4}},
                              {{3, 64}, {1}},
                              {{2, 3, 4, 8}, {0, 2, 3}},
                              {{40, 24}, {0}},
                              // Rows of whole vectors and of parts of one, as many as no part of a sum has.
                              {{3, 67, 8}, {1}},
                              {{4, 9, 16}, {1}},
                              {{70, 12}, {0}},
                              {{13, 44}, {0}}};
const DTypes numbers{DType::f32, DType::f16, DType::bf16, DType::u8,  DType::i8,
                     DType::u16, DType::i16, DType::i32,  DType::i64, DType::boolean};

template <class O>
void check_reduction(double low, double high) {
    for (auto& c : cases)
        check_op<O>({.axes = c.axes, .keepdims = c.keepdims}, {{.shape = c.shape, .low = low, .high = high}},
                    {.dtypes = numbers, .reduction = c.shape.numel()});
}

TEST(Reduce, Sum) { check_reduction<ops::Sum>(-3, 3); }
TEST(Reduce, Mean) { check_reduction<ops::Mean>(-3, 3); }

// Numbers of both signs, each 6 % apart from the next: no finite difference sees another one.
std::vector<double> numbers_apart(int64_t count) {
    constexpr int64_t stride = 37;  // no count below has it for a factor: all are different
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
        int64_t place = i * stride % count;
        values.push_back((place % 2 ? 1 : -1) * std::pow(1.06, double(place / 2)));
    }
    return values;
}

template <class O>
void check_extreme() {
    for (auto& c : cases) {
        typename O::Params params{.axes = c.axes, .keepdims = c.keepdims};
        check_op<O>(params, {{.shape = c.shape, .low = -100, .high = 100}},
                    {.dtypes = numbers, .gradient = false});
        if (c.shape.numel() < 500)
            check_op<O>(params, {{.shape = c.shape, .values = numbers_apart(c.shape.numel())}});
    }
}
TEST(Reduce, Max) { check_extreme<ops::Max>(); }
TEST(Reduce, Min) { check_extreme<ops::Min>(); }

// Products near 1, so that neither they nor their errors explode.
TEST(Reduce, Prod) { check_reduction<ops::Prod>(0.99, 1.01); }

TEST(Reduce, EmptyReductionsGiveNeutralElements) {
    Tensor x = make_tensor(DType::f32, {2, 0}, {});
    EXPECT_EQ(values_of(ops::sum(x, {.axes = {1}})), (std::vector<double>{0, 0}));
    EXPECT_EQ(values_of(ops::prod(x, {.axes = {1}})), (std::vector<double>{1, 1}));
    EXPECT_TRUE(std::isnan(values_of(ops::mean(x))[0]));
    EXPECT_THROW(ops::max(x), UserError);
    EXPECT_THROW(ops::argmin(x), UserError);
}

TEST(Reduce, KeepsNan) {
    for (int64_t n : {3, 64, 1000})
        for (int64_t at : {int64_t(0), n / 2, n - 1}) {
            std::vector<double> values(size_t(n), 1);
            values[size_t(at)] = NAN;
            for (Shape shape : {Shape{n}, Shape{n, 1, 1}}) {
                Tensor x = make_tensor(DType::f32, shape, values);
                EXPECT_TRUE(std::isnan(values_of(ops::max(x))[0]));
                EXPECT_TRUE(std::isnan(values_of(ops::min(x))[0]));
                EXPECT_TRUE(std::isnan(values_of(ops::sum(x))[0]));
                EXPECT_EQ(values_of(ops::argmax(x, {.axis = 0}))[0], double(at));
            }
        }
}

TEST(Reduce, RefusesBadAxes) {
    Tensor x = make_tensor(DType::f32, {2, 2}, {1, 2, 3, 4});
    EXPECT_THROW(ops::sum(x, {.axes = {2}}), UserError);
    EXPECT_THROW(ops::sum(x, {.axes = {1, -1}}), UserError);
}

// A plain f32 loop would be off by 1e-3 and more.
TEST(Reduce, LongSumsAreAccurate) {
    constexpr int64_t n = 3'000'001;
    std::vector<double> values(n);
    double exact = 0;
    for (size_t i = 0; i < values.size(); ++i) exact += values[i] = float(0.1 + 1e-7 * double(i % 100));
    Tensor row = make_tensor(DType::f32, {1, n}, values), column = row.with_shape({n, 1});
    EXPECT_NEAR(values_of(ops::sum(row, {.axes = {1}}))[0], exact, 2e-7 * exact);
    EXPECT_NEAR(values_of(ops::sum(column, {.axes = {0}}))[0], exact, 2e-7 * exact);
    Tensor pairs =
        make_tensor(DType::f32, {n - 1}, {values.begin(), values.end() - 1}).with_shape({n / 2, 2});
    auto sums = values_of(ops::sum(pairs, {.axes = {0}}));
    EXPECT_NEAR(sums[0] + sums[1], exact - values.back(), 2e-7 * exact);
}

// Large enough for two threads and for several pieces; the number of threads must not change the bits.
TEST(Reduce, SplitsAmongThreads) {
    for (auto& c :
         {Case{{300, 1001}, {1}}, Case{{1001, 300}, {0}}, Case{{100'003}, {}}, Case{{50'001, 3}, {0}}})
        check_op<ops::Sum>(
            {.axes = c.axes}, {{.shape = c.shape}},
            {.dtypes = {DType::f32, DType::f16}, .reduction = c.shape.numel(), .gradient = false});
}

TEST(ArgExtreme, FirstAmongEquals) {
    for (Shape shape : {Shape{1}, Shape{37}, Shape{3, 31}, Shape{31, 3}, Shape{2, 9, 300}, Shape{0, 3}})
        for (int axis = 0; axis < shape.rank(); ++axis) {
            if (shape[axis] == 0) continue;
            // Few different values: many ties.
            check_op<ops::Argmax>({.axis = axis}, {{.shape = shape, .low = -3, .high = 3}},
                                  {.dtypes = numbers});
            check_op<ops::Argmin>({.axis = axis, .keepdims = true}, {{.shape = shape, .low = -3, .high = 3}},
                                  {.dtypes = numbers});
        }
    EXPECT_EQ(values_of(ops::argmax(tensor_of<float>({5}, {1, 3, 3, 2, 3})))[0], 1);
    EXPECT_EQ(values_of(ops::argmax(tensor_of<float>({4}, {1, NAN, 3, NAN})))[0], 1);
}

TEST(Cumsum, AlongEachAxis) {
    for (Shape shape :
         {Shape{1}, Shape{37}, Shape{3, 31}, Shape{2, 9, 300}, Shape{9, 12}, Shape{0, 3}, Shape{3, 0}})
        for (int axis = 0; axis < shape.rank(); ++axis)
            check_op<ops::Cumsum>({.axis = axis}, {{.shape = shape}},
                                  {.dtypes = number_types, .reduction = shape.rank() ? shape[axis] : 1});
    EXPECT_THROW(ops::cumsum(tensor_of<bool>({1}, {true})), UserError);
}

}  // namespace
}  // namespace mge::test
