// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "tests/harness/check_op.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using Conv = ops::QuantizedConv2d;
constexpr auto half_even = ops::StepRounding::half_even;

Tensor number(double value) { return make_tensor(DType::f32, {1}, {value}); }
Tensor zero(int value) { return make_tensor(DType::i32, {1}, {double(value)}); }
Tensor weight() { return make_tensor(DType::i8, {3, 2, 1, 1}, {1, -2, 3, 4, -5, 6}); }
Tensor shift(const Shape& shape) { return make_tensor(DType::f32, shape, {0.25, -1, 0.5}); }

// A convolution in steps of 0.1 from 100 on.
Conv::Params params() { return {.dtype = DType::u8, .rounding = half_even}; }
Tensor convolved(const Tensor& x, const Conv::Params& p = params()) {
    Tensor none;
    return ops::quantized_conv2d(
        {x, weight(), number(0.01), none, none, zero(3), none, number(0.1), zero(100)}, p);
}
ops::QuantizedAdd::Params add_params() { return {.relu = true, .dtype = DType::i8, .rounding = half_even}; }
Tensor added(const Tensor& a, const Tensor& b) {
    return ops::quantized_add({a, b, number(0.1), number(0.02), number(0.07), zero(100), Tensor(), zero(-5)},
                              add_params());
}
Conv::Params fused_params() {
    auto p = params();
    p.activation = Activation::relu;
    p.dtype = DType::i8;
    p.inner_dtype = DType::u8;
    return p;
}
Tensor fused(const Tensor& x, const Tensor& residual, double residual_scale, const Tensor& residual_zero) {
    Tensor none;
    return ops::quantized_conv2d(
        {x, weight(), number(0.01), none, residual, zero(3), none, number(0.07), zero(-5),
         number(residual_scale), residual_zero, number(0.1), zero(100), none},
        fused_params());
}
const TensorSpecs specs{{DType::u8, {2, 2, 4, 5}, {}}, {DType::i8, {2, 3, 4, 5}, {}}};

void expect_equal_results(const TensorSpecs& inputs, const Body& body) {
    Graph before = record(inputs, body), after = fuse_step_sums(before, {});
    verify(after);
    Tensors x;
    for (auto& spec : inputs) {
        std::vector<double> values;
        for (int64_t i = 0; i < spec.numel(); ++i)
            values.push_back(double(i * 37 % 256) - (spec.dtype == DType::i8 ? 128 : 0));
        x.push_back(make_tensor(spec.dtype, spec.shape, values));
    }
    EXPECT_EQ(values_of(Executable(after, {}).run(x)[0]), values_of(body(x)[0]));
}

TEST(FuseStepSums, AddsResiduals) {
    Body sum = [](const Tensors& x) { return Tensors{added(convolved(x[0]), x[1])}; };
    expect_rewrite(fuse_step_sums, specs, sum,
                   [](const Tensors& x) { return Tensors{fused(x[0], x[1], 0.02, Tensor())}; });
    expect_equal_results(specs, sum);
}

TEST(FuseStepSums, AddsTheFirstOperandToTheSecond) {
    Body sum = [](const Tensors& x) {
        return Tensors{ops::quantized_add(
            {x[1], convolved(x[0]), number(0.02), number(0.1), number(0.07), Tensor(), zero(100), zero(-5)},
            add_params())};
    };
    expect_rewrite(fuse_step_sums, specs, sum,
                   [](const Tensors& x) { return Tensors{fused(x[0], x[1], 0.02, Tensor())}; });
    expect_equal_results(specs, sum);
}

TEST(FuseStepSums, AddsTheEarlierConvolutionToTheLaterOne) {
    Body sum = [](const Tensors& x) {
        Tensor first = convolved(x[0]), second = convolved(x[1]);
        return Tensors{ops::quantized_add(
            {first, second, number(0.1), number(0.1), number(0.07), zero(100), zero(100), zero(-5)},
            add_params())};
    };
    expect_rewrite(fuse_step_sums, {specs[0], specs[0]}, sum,
                   [](const Tensors& x) { return Tensors{fused(x[1], convolved(x[0]), 0.1, zero(100))}; });
    expect_equal_results({specs[0], specs[0]}, sum);
}

Tensor shifted(const Tensor& steps, const Tensor& by) {
    Tensor real = ops::add(ops::dequantize(steps, number(0.1), zero(100)), by);
    return ops::quantize(real, number(0.05), zero(7), {.dtype = DType::u8, .rounding = half_even});
}
Tensor shifted_inside(const Tensor& x) {
    auto p = params();
    p.inner_dtype = DType::u8;
    Tensor none;
    return ops::quantized_conv2d({x, weight(), number(0.01), none, none, zero(3), none, number(0.05), zero(7),
                                  none, none, number(0.1), zero(100), shift({3})},
                                 p);
}

TEST(FuseStepSums, AddsConstants) {
    Body sum = [](const Tensors& x) { return Tensors{shifted(convolved(x[0]), shift({3, 1, 1}))}; };
    expect_rewrite(fuse_step_sums, {specs[0]}, sum,
                   [](const Tensors& x) { return Tensors{shifted_inside(x[0])}; });
    expect_equal_results({specs[0]}, sum);
}

TEST(FuseStepSums, AddsConstantsToRowsOfMatrices) {
    TensorSpecs rows{{DType::u8, {20, 2, 1, 1}, {}}};
    auto reshaped = [](const Tensor& x) { return ops::reshape(x, {.shape = {4, 5, 3}}); };
    Body sum = [&](const Tensors& x) { return Tensors{shifted(reshaped(convolved(x[0])), shift({3}))}; };
    expect_rewrite(fuse_step_sums, rows, sum,
                   [&](const Tensors& x) { return Tensors{reshaped(shifted_inside(x[0]))}; });
    expect_equal_results(rows, sum);
}

void expect_left(const TensorSpecs& inputs, const Body& body) {
    expect_rewrite(fuse_step_sums, inputs, body, body);
}

TEST(FuseStepSums, KeepsOtherSums) {
    // The steps have another reader, another meaning, bounds, an activation, or another rounding.
    expect_left(specs, [](const Tensors& x) {
        Tensor y = convolved(x[0]);
        return Tensors{added(y, x[1]), y};
    });
    expect_left(specs, [](const Tensors& x) {
        return Tensors{ops::quantized_add(
            {convolved(x[0]), x[1], number(0.2), number(0.02), number(0.07), zero(100), Tensor(), zero(-5)},
            add_params())};
    });
    expect_left(specs, [](const Tensors& x) {
        auto p = params();
        p.lower = 1;
        p.upper = 255;
        return Tensors{added(convolved(x[0], p), x[1])};
    });
    expect_left(specs, [](const Tensors& x) {
        auto p = params();
        p.activation = Activation::relu;
        return Tensors{added(convolved(x[0], p), x[1])};
    });
    expect_left(specs, [](const Tensors& x) {
        auto p = params();
        p.rounding = ops::StepRounding::half_away;
        return Tensors{added(convolved(x[0], p), x[1])};
    });
    // Constants along another axis, or that broadcast the steps.
    TensorSpecs square{{DType::u8, {2, 2, 3, 3}, {}}};
    expect_left(square, [](const Tensors& x) { return Tensors{shifted(convolved(x[0]), shift({3}))}; });
    expect_left({{DType::u8, {1, 2, 1, 1}, {}}}, [](const Tensors& x) {
        return Tensors{shifted(convolved(x[0]), shift({3, 1, 1, 1}))};
    });
}

TEST(FuseStepSums, ObeysTheSwitches) {
    Body residual = [](const Tensors& x) { return Tensors{added(convolved(x[0]), x[1])}; };
    Body constant = [](const Tensors& x) { return Tensors{shifted(convolved(x[0]), shift({3, 1, 1}))}; };
    PassOptions options;
    options.switches.fuse_residual = false;
    options.switches.fuse_bias = false;
    expect_same(fuse_step_sums(record(specs, residual), options), record(specs, residual));
    expect_same(fuse_step_sums(record({specs[0]}, constant), options), record({specs[0]}, constant));
}

}  // namespace
}  // namespace mge::test
