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
        "conv2d of quantised tensors. The sums of products (x - x_zero) * (weight - weight_zero) and of "
        "bias (int32) are exact in int32. Without y_scale they are the result. With it they are multiplied "
        "by `scale`, the scale of x times that of weight (one number, or one per channel of y). With an "
        "inner_scale they are then quantised to inner_dtype and dequantised, half to even. Then shift (one "
        "real number per channel) and residual are added, the activation is applied, and the result is "
        "quantised.";
    static constexpr auto inputs =
        names("x", "weight", optional("scale"), optional("bias"), optional("residual"), optional("x_zero"),
              optional("weight_zero"), optional("y_scale"), optional("y_zero"), optional("residual_scale"),
              optional("residual_zero"), optional("inner_scale"), optional("inner_zero"), optional("shift"));
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
        residual_zero,
        inner_scale,
        inner_zero,
        shift
    };
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
        DType inner_dtype = DType::i8;
    };
    static constexpr auto fields = field_list(
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding", "Number of zeros added on each side of height and width."),
        field<&Params::dilation>("dilation", "Distance between neighbouring elements of the window."),
        field<&Params::groups>("groups", "Number of groups of channels."),
        field<&Params::activation>("activation", "Activation of the real numbers, as in conv2d."),
        field<&Params::dtype>("dtype", "Dtype of y: uint8, int8 or int32; int32 without y_scale."),
        field<&Params::lower>("lower",
                              "Lowest quantised value of y. If both bounds are 0, they are those "
                              "of the dtype."),
        field<&Params::upper>("upper",
                              "Highest quantised value of y. If both bounds are 0, they are those "
                              "of the dtype."),
        field<&Params::rounding>("rounding", "Rounding of ties, half_away or half_even, as in quantize."),
        field<&Params::inner_dtype>("inner_dtype",
                                    "Dtype of the steps of inner_scale: uint8 or int8. All values of the "
                                    "dtype are allowed."));
    static constexpr ImageLayouts layouts{
        .inputs = 1u << x | 1u << residual, .outputs = 0b1, .is_preferred = true};
    // All but x and residual.
    static constexpr AlwaysIndependent batch_independence{
        {.shared_inputs = ~(1u << x | 1u << residual), .shares_times = true}};
    static TensorSpecs infer(const Params&, Specs);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<QuantizedConv2d> quantized_conv2d{};

}  // namespace mge::ops
