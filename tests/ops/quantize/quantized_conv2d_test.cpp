// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantize.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using Params = ops::QuantizedConv2d::Params;

Tensor number(float value) { return tensor_of<float>({1}, {value}); }
Tensor zero_point(int32_t value) { return tensor_of<int32_t>({1}, {value}); }

InputSpec steps(const Shape& shape, DType dtype) {
    return {.shape = shape,
            .low = dtype == DType::u8 ? 0. : -128,
            .high = dtype == DType::u8 ? 255. : 127,
            .dtype = dtype};
}
InputSpec one(DType dtype, double value) { return {.shape = {1}, .dtype = dtype, .values = {value}}; }
InputSpec scale(double value) { return one(DType::f32, value); }
InputSpec zero(double value) { return one(DType::i32, value); }
const InputSpec none{.absent = true};

// 1 · 1 convolution of one pixel: y = act((3 · 5 + 1) · 0.5 + (7 - 2) · 0.25) / 0.1.
TEST(QuantizedConv2d, IsDefinedInRealNumbers) {
    Tensor x = tensor_of<int8_t>({1, 1, 1, 1}, {3}), w = tensor_of<int8_t>({1, 1, 1, 1}, {5});
    Tensor bias = tensor_of<int32_t>({1, 1, 1, 1}, {1}), z = tensor_of<uint8_t>({1, 1, 1, 1}, {7});
    auto run = [&](const Params& p) {
        return values_of(ops::quantized_conv2d({x, w, number(0.5f), bias, z, Tensor(), Tensor(), number(0.1f),
                                                Tensor(), number(0.25f), zero_point(2)},
                                               p));
    };
    EXPECT_THAT(run({}), ElementsAre(93));  // 92.5, away from zero
    EXPECT_THAT(run({.rounding = ops::StepRounding::half_even}), ElementsAre(92));
    EXPECT_THAT(run({.activation = Activation::relu6}), ElementsAre(60));
    EXPECT_THAT(run({.dtype = DType::i8, .lower = -8, .upper = 7}), ElementsAre(7));
    EXPECT_THAT(values_of(ops::quantized_conv2d(x, w, {}, bias)), ElementsAre(16));
}

// Every sum of a byte with a step of 0.07: the convolution in its own steps of 0.1, from 100 on, then a
// shift, a residual and relu.
TEST(QuantizedConv2d, RoundsToInnerStepsBeforeASum) {
    constexpr int64_t n = 256;
    std::vector<uint8_t> bytes(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) bytes[size_t(i)] = uint8_t(i);
    Tensor x = tensor_of<uint8_t>({n, 1, 1, 1}, bytes), w = tensor_of<int8_t>({2, 1, 1, 1}, {3, -5}), none;
    std::vector<int8_t> others;
    for (int i = 0; i < 2 * n; ++i) others.push_back(int8_t(i * 37));
    Tensor z = tensor_of<int8_t>({n, 2, 1, 1}, others), shift = tensor_of<float>({2}, {0.25f, -1});
    Tensor sums = ops::quantized_conv2d(
        {x, w, number(0.05f), none, none, zero_point(99), none, number(0.1f), zero_point(100)},
        {.dtype = DType::u8, .rounding = ops::StepRounding::half_even});
    Tensor real = ops::dequantize(sums, number(0.1f).with_shape({1}), zero_point(100));
    real = ops::add(real, shift.with_shape({2, 1, 1}));
    real = ops::add(real, ops::dequantize(z, number(0.02f), zero_point(7)));
    for (auto rounding : {ops::StepRounding::half_away, ops::StepRounding::half_even}) {
        Tensor expected = ops::quantize(ops::relu(real), number(0.07f), zero_point(9),
                                        {.dtype = DType::u8, .rounding = rounding});
        Tensor y = ops::quantized_conv2d(
            {x, w, number(0.05f), none, z, zero_point(99), none, number(0.07f), zero_point(9), number(0.02f),
             zero_point(7), number(0.1f), zero_point(100), shift},
            {.activation = Activation::relu,
             .dtype = DType::u8,
             .rounding = rounding,
             .inner_dtype = DType::u8});
        EXPECT_EQ(values_of(y), values_of(expected));
    }
}

TEST(QuantizedConv2d, PadsWithTheZeroPoint) {
    Tensor x = tensor_of<uint8_t>({1, 1, 1, 1}, {10}), w = tensor_of<uint8_t>({1, 1, 1, 3}, {1, 2, 4});
    Tensor y = ops::quantized_conv2d({x, w, Tensor(), Tensor(), Tensor(), zero_point(9), zero_point(3)},
                                     {.padding = {0, 1}});
    EXPECT_THAT(values_of(y), ElementsAre(-1));
    EXPECT_EQ(y.dtype(), DType::i32);
}

struct Case {
    Shape x, weight;
    Params params;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {{1, 3, 6, 6}, {4, 3, 3, 3}, {.padding = {1, 1}}},
        {{2, 17, 5, 7}, {33, 17, 1, 1}, {}},
        {{2, 4, 9, 8}, {5, 4, 3, 2}, {.stride = {2, 3}, .padding = {2, 1}}},
        {{1, 8, 9, 9}, {16, 8, 3, 3}, {.padding = {2, 2}, .dilation = {2, 2}}},
        {{2, 8, 6, 6}, {2, 4, 4, 3, 3}, {.groups = 2}},
        {{1, 37, 9, 10}, {37, 1, 1, 3, 3}, {.stride = {2, 1}, .padding = {1, 1}, .groups = 37}},
        {{1, 64, 7, 7}, {40, 64, 3, 3}, {.padding = {1, 1}}},
        {{1, 2, 3, 3}, {3, 2, 3, 3}, {}},
        {{0, 3, 6, 6}, {4, 3, 3, 3}, {}},
        {{1, 3, 4, 4}, {2, 3, 3, 3}, {.padding = {5, 5}}},
    };
    return all;
}

Shape y_shape(const Case& c) {
    return conv_geometry("test", ops::window_of(c.params), c.x, c.weight).y_shape();
}

TEST(QuantizedConv2d, AllKernelsGiveTheSameBits) {
    for (const Case& c : cases()) {
        Shape y = y_shape(c);
        InputSpec bias{.shape = {1, y[1], 1, 1}, .low = -5000, .high = 5000, .dtype = DType::i32};
        InputSpec scales{.shape = {y[1]}, .low = 1e-4, .high = 1e-3, .dtype = DType::f32};
        for (auto activation : {Activation::none, Activation::relu, Activation::hswish}) {
            Params p = c.params;
            p.activation = activation;
            check_op<ops::QuantizedConv2d>(p, {steps(c.x, DType::i8), steps(c.weight, DType::i8), scale(1e-3),
                                               bias, none, none, none, scale(0.3)});
            // Powers of two: many sums are halfway.
            p.rounding = ops::StepRounding::half_even;
            check_op<ops::QuantizedConv2d>(p, {steps(c.x, DType::i8), steps(c.weight, DType::i8),
                                               scale(0x1p-10), bias, none, none, none, scale(0x1p-2)});
            p.dtype = DType::u8;
            check_op<ops::QuantizedConv2d>(
                p, {steps(c.x, DType::u8), steps(c.weight, DType::i8), scales, bias, steps(y, DType::i8),
                    zero(100), none, scale(0.3), zero(77), scale(0.02)});
            InputSpec shift{.shape = {y[1]}, .low = -1, .high = 1, .dtype = DType::f32};
            check_op<ops::QuantizedConv2d>(
                p, {steps(c.x, DType::u8), steps(c.weight, DType::i8), scales, bias, steps(y, DType::u8),
                    zero(100), none, scale(0.3), zero(77), scale(0.02), none, scale(0.02), zero(-3), shift});
        }
        check_op<ops::QuantizedConv2d>(c.params, {steps(c.x, DType::u8), steps(c.weight, DType::u8), none,
                                                  none, none, zero(128), zero(120)});
        check_op<ops::QuantizedConv2d>(c.params, {steps(c.x, DType::i8), steps(c.weight, DType::i8)});
    }
}

// The largest sums of pairs: kernels that add them in 16 bits would saturate.
TEST(QuantizedConv2d, DoesNotSaturateInside) {
    for (auto [x, w] : {std::pair{255., -128.}, {255., 127.}, {0., -128.}}) {
        std::vector<InputSpec> inputs{one(DType::u8, x), one(DType::i8, w), none, none, none, zero(128)};
        inputs[0].shape = {1, 64, 5, 5};
        inputs[1].shape = {32, 64, 3, 3};
        check_op<ops::QuantizedConv2d>({.padding = {1, 1}}, inputs);
    }
}

TEST(QuantizedConv2d, RejectsMismatchedOperands) {
    auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const UserError& error) {
            return error.what();
        }
        return "nothing";
    };
    Tensor x = tensor_of<int8_t>({1, 1, 1, 1}, {3}), real = number(1);
    EXPECT_THAT(message([&] {
                    ops::quantized_conv2d(tensor_of<float>({1, 1, 1, 1}, {3}), x);
                }),
                testing::HasSubstr("x must be quantised to uint8 or int8, got float32"));
    EXPECT_THAT(message([&] {
                    ops::quantized_conv2d({x, x, real, real, Tensor(), Tensor(), Tensor(), real});
                }),
                testing::HasSubstr("its bias must be one for each of 1 channels, of int32"));
    EXPECT_THAT(message([&] { ops::quantized_conv2d(x, x, {}, {}, {}, real); }),
                testing::HasSubstr("its x_zero must be one number of int32"));
    EXPECT_THAT(message([&] {
                    ops::quantized_conv2d({x, x, real, Tensor(), x, Tensor(), Tensor(), real});
                }),
                testing::HasSubstr("needs a residual_scale"));
    EXPECT_THAT(message([&] {
                    ops::quantized_conv2d({x, x, real, Tensor(), Tensor(), Tensor(), Tensor(), real, Tensor(),
                                           Tensor(), Tensor(), real},
                                          {.inner_dtype = DType::i32});
                }),
                testing::HasSubstr("its inner_dtype must be uint8 or int8, got int32"));
    EXPECT_THAT(
        message([&] {
            ops::quantized_conv2d({x, x, real, Tensor(), Tensor(), Tensor(), Tensor(), real, Tensor(),
                                   Tensor(), Tensor(), Tensor(), Tensor(), tensor_of<float>({2}, {1, 2})});
        }),
        testing::HasSubstr("its shift must be one for each of 1 channels, of float32"));
    EXPECT_THAT(message([&] { ops::quantized_conv2d(x, x, {.activation = Activation::relu}); }),
                testing::HasSubstr("need a y_scale"));
}

}  // namespace
}  // namespace mge::test
