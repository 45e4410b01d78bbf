// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/quantize/step_rounding.h"

namespace mge::ops {

struct QuantizedConv2d {
    static constexpr auto name = "quantized_conv2d";
    static constexpr auto doc =
        "conv2d of steps. The sums of products (x - x_zero) * (weight - weight_zero) are exact in int32, "
        "bias "
        "(int32) is added to them. With y_scale they become real numbers by `scale`, which is that of x "
        "times "
        "that of weight (one number, or one per channel of y); then residual is added, the activation "
        "applied, "
        "and the result rounded to steps of y. Without it they are the result.";
    static constexpr auto inputs =
        names("x", "weight", optional("scale"), optional("bias"), optional("residual"), optional("x_zero"),
              optional("weight_zero"), optional("y_scale"), optional("y_zero"), optional("residual_scale"),
              optional("residual_zero"));
    enum Input : size_t {
        x,
        weight,
        scale,
        bias,
        residual,
        x_zero,
        weight_zero,
        y_scale,
        y_zero,
        residual_scale,
        residual_zero
    };
    static constexpr auto outputs = output_names("y");
    static constexpr bool stops_gradient = true;
    struct Params {
        Pair stride{1, 1};
        Pair padding{0, 0};
        Pair dilation{1, 1};
        int64_t groups = 1;
        Activation activation = Activation::none;
        DType dtype = DType::i8;
        int64_t lower = 0;
        int64_t upper = 0;
        StepRounding rounding = StepRounding::half_away;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding", "Zeros put around x, above and below, left and right."),
        field<&Params::dilation>("dilation", "Distance of neighbouring elements of the window."),
        field<&Params::groups>("groups", "Number of groups that channels are divided into."),
        field<&Params::activation>("activation", "Applied to the real numbers; as that of conv2d."),
        field<&Params::dtype>("dtype", "Of the steps of y: uint8, int8 or int32; without y_scale int32."),
        field<&Params::lower>("lower", "Lowest step of y; when both bounds are 0, that of the dtype."),
        field<&Params::upper>("upper", "Highest step of y; when both bounds are 0, that of the dtype."),
        field<&Params::rounding>("rounding", "half_away or half_even, as of quantize."));
    static constexpr ImageLayouts layouts{
        .inputs = 1u << x | 1u << residual, .outputs = 0b1, .is_preferred = true};
    // All but x and residual.
    static constexpr AlwaysApart items_apart{
        {.shared_inputs = ~(1u << x | 1u << residual), .shares_times = true}};
    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static double operations(const Params&, std::span<const TensorSpec> in, std::span<const TensorSpec> out);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, QuantizedConv2d);
inline constexpr OpFunction<QuantizedConv2d> quantized_conv2d{};

}  // namespace mge::ops
