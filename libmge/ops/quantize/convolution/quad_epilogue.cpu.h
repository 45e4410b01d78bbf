// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogues of convolutions by sums of four products, which round sums to steps in registers where they can.

#include <optional>
#include <span>

#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/ops/quantize/convolution/convolution_epilogue.h"

namespace mge::ops {

// Which divisions round shortly (cpu::rounds_shortly).
struct ShortDivisions {
    bool by_y_scale = false, by_inner_scale = false;
};
// False for scales that are not constant.
inline ShortDivisions short_divisions(const PrepareContext& context) {
    auto is_short = [&](size_t scale) {
        return context.problem.has_input(scale) && context.problem.is_constant(scale) &&
               context.constants[scale] &&
               cpu::rounds_shortly(*static_cast<const float*>(context.constants[scale]));
    };
    return {is_short(QuantizedConv2d::y_scale), is_short(QuantizedConv2d::inner_scale)};
}

// Nullopt where finish_block() has to make the steps.
inline std::optional<cpu::QuadSteps> quad_steps_of(const ConvEpilogue& e, const ConvScales& s,
                                                   int64_t channels, ShortDivisions are_short) {
    const bool has_residual = e.residual_dtype != DType::none;
    if (e.is_exact || !is_byte(e.dtype) || (has_residual && !is_byte(e.residual_dtype))) return std::nullopt;
    const cpu::StepMaking making{.activation = e.activation,
                                 .is_even = e.rounding == StepRounding::half_even,
                                 .y_scale = s.y_scale,
                                 .y_zero = s.y_zero,
                                 .lower = float(e.range.lower),
                                 .upper = float(e.range.upper),
                                 .is_signed = e.dtype == DType::i8,
                                 .is_residual_signed = e.residual_dtype == DType::i8,
                                 .residual_scale = s.residual_scale,
                                 .residual_zero = s.residual_zero,
                                 .has_inner = e.inner_dtype != DType::none,
                                 .inner = {s.inner_scale, s.inner_zero, e.inner_dtype == DType::i8}};
    return cpu::quad_steps(making, {.scales = std::span(s.scale, size_t(e.is_per_channel ? channels : 1)),
                                    .shifts = std::span(s.shift, size_t(s.shift ? channels : 0)),
                                    .has_residual = has_residual,
                                    .y_may_be_short = are_short.by_y_scale,
                                    .inner_may_be_short = are_short.by_inner_scale});
}

}  // namespace mge::ops
