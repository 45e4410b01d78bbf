// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogues of convolutions by sums of four products, which round sums to steps in registers where they can.

#include <optional>
#include <span>

#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/ops/quantize/convolution/convolution_epilogue.h"

namespace mge::ops {

// For quad_steps_of(); false if y_scale is not constant.
inline bool rounds_shortly(const PrepareContext& context) {
    constexpr size_t y_scale = QuantizedConv2d::y_scale;
    return context.problem.has_input(y_scale) && context.problem.is_constant(y_scale) &&
           context.constants[y_scale] &&
           cpu::rounds_shortly(*static_cast<const float*>(context.constants[y_scale]));
}

// Nullopt where finish_block() has to make the steps.
inline std::optional<cpu::QuadSteps> quad_steps_of(const ConvEpilogue& e, const ConvScales& s,
                                                   int64_t channels, bool may_be_short) {
    if (e.is_exact || !is_byte(e.dtype) || e.residual_dtype != DType::none) return std::nullopt;
    const cpu::StepMaking making{.activation = e.activation,
                                 .is_even = e.rounding == StepRounding::half_even,
                                 .y_scale = s.y_scale,
                                 .y_zero = s.y_zero,
                                 .lower = float(e.range.lower),
                                 .upper = float(e.range.upper),
                                 .is_signed = e.dtype == DType::i8};
    return cpu::quad_steps(making, std::span(s.scale, size_t(e.is_per_channel ? channels : 1)), may_be_short);
}

}  // namespace mge::ops
