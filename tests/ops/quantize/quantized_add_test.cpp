// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

Tensor number(float value) { return tensor_of<float>({1}, {value}); }
Tensor zero_point(int32_t value) { return tensor_of<int32_t>({1}, {value}); }

TEST(QuantizedAdd, AgreesWithItsReference) {
    InputSpec scale{.shape = {1}, .dtype = DType::f32, .values = {0.07}};
    InputSpec zero{.shape = {1}, .dtype = DType::i32, .values = {100}};
    for (Shape shape : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 30001}})
        for (bool relu : {false, true}) {
            InputSpec a{.shape = shape, .low = -128, .high = 127, .dtype = DType::i8};
            InputSpec b{.shape = shape, .low = 0, .high = 255, .dtype = DType::u8};
            check_op<ops::QuantizedAdd>({.relu = relu}, {a, a, scale, scale, scale});
            check_op<ops::QuantizedAdd>({.relu = relu, .dtype = DType::u8},
                                        {a, b, scale, scale, scale, {.absent = true}, zero, zero});
            check_op<ops::QuantizedAdd>({.relu = relu, .dtype = DType::i8, .lower = -8, .upper = 7},
                                        {b, a, scale, scale, scale, zero});
            check_op<ops::QuantizedAdd>({.relu = relu, .rounding = ops::StepRounding::half_even},
                                        {a, a, scale, scale, scale});
        }
}

// Every pair of steps, against the operators that it stands for.
TEST(QuantizedAdd, MatchesItsPartsBitwise) {
    std::vector<int8_t> a;
    std::vector<uint8_t> b;
    for (int i = 0; i < 65536; ++i) {
        a.push_back(int8_t(i >> 8));
        b.push_back(uint8_t(i));
    }
    Tensor x = tensor_of<int8_t>({65536}, a), y = tensor_of<uint8_t>({65536}, b);
    Tensor s = number(0.1f), t = number(0.03f), u = number(0.07f);
    Tensor sum = ops::add(ops::dequantize(x, s), ops::dequantize(y, t, zero_point(100)));
    for (auto rounding : {ops::StepRounding::half_away, ops::StepRounding::half_even})
        EXPECT_EQ(values_of(ops::quantized_add({x, y, s, t, u, Tensor(), zero_point(100), zero_point(9)},
                                               {.relu = true, .dtype = DType::u8, .rounding = rounding})),
                  values_of(ops::quantize(ops::relu(sum), u, zero_point(9),
                                          {.dtype = DType::u8, .rounding = rounding})));
}

TEST(QuantizedAdd, RoundsTiesAsConfigured) {
    Tensor a = tensor_of<int8_t>({4}, {1, 3, 5, -3}), b = tensor_of<int8_t>({4}, {0, 0, 0, 0});
    Tensor half = number(0.5f), one = number(1);
    EXPECT_THAT(values_of(ops::quantized_add(a, b, half, half, one)), testing::ElementsAre(1, 2, 3, -2));
    EXPECT_THAT(
        values_of(ops::quantized_add({a, b, half, half, one}, {.rounding = ops::StepRounding::half_even})),
        testing::ElementsAre(0, 2, 2, -2));
}

TEST(QuantizedAdd, RejectsMismatchedOperands) {
    Tensor a = tensor_of<int8_t>({2}, {1, 2}), b = tensor_of<int8_t>({1}, {1}), one = number(1);
    EXPECT_THROW(ops::quantized_add(a, b, one, one, one), UserError);
    EXPECT_THROW(ops::quantized_add(a, a, one, one, a), UserError);
    EXPECT_THROW(ops::quantized_add(one, a, one, one, one), UserError);
}

}  // namespace
}  // namespace mge::test
