// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/quad_product.h"

#include <algorithm>
#include <cmath>

namespace mge::cpu {
namespace {

float rounding_error_of_inverse(float scale) { return float(1 / double(scale) - double(1 / scale)); }

// Nothing on the way to its steps leaves the range of floats, and steps fit in 16 bits.
bool fits(float scale, float zero) {
    return scale > 0x1p-60f && scale < 0x1p60f && std::abs(zero) <= 0x1p14f;
}

// The largest magnitude of the real number of a byte's step.
float most_of_byte(float scale, float zero) { return std::abs(scale) * (256 + std::abs(zero)); }

// Whether the rounded quotients of all sums are exact, less than 2^30 in magnitude. Sums are less than 2^31.
bool are_divisible(std::span<const float> scales, float by) {
    const float most = by * 0x1p-2f;
    return std::ranges::all_of(scales, [&](float s) { return std::abs(s) <= most; });
}

}  // namespace

std::optional<QuadSteps> quad_steps(const StepMaking& m, const QuadOperands& operands) {
    const bool is_relu = m.activation == Activation::relu;
    if (!m.is_even || (m.activation != Activation::none && !is_relu)) return std::nullopt;
    if (!fits(m.y_scale, m.y_zero)) return std::nullopt;
    float most = 0;  // the largest magnitude of the other operands
    for (float shift : operands.shifts) most = std::max(most, std::abs(shift));
    if (operands.has_residual) most += most_of_byte(m.residual_scale, m.residual_zero);
    if (m.has_inner) {
        if (!fits(m.inner.scale, m.inner.zero)) return std::nullopt;
        most += most_of_byte(m.inner.scale, m.inner.zero);
    }
    if (!are_divisible(operands.scales, m.has_inner ? m.inner.scale : m.y_scale) ||
        !(most <= m.y_scale * 0x1p28f))
        return std::nullopt;
    const float upper = m.upper, lower = is_relu ? std::min(std::max(m.lower, m.y_zero), upper) : m.lower;
    const float reach = std::max(std::abs(lower - m.y_zero), std::abs(upper - m.y_zero));
    QuadSteps steps{
        .y_scale = m.y_scale,
        .inverse = 1 / m.y_scale,
        .rounded_off = rounding_error_of_inverse(m.y_scale),
        .zero = int16_t(m.y_zero),
        .lower = int16_t(lower),
        .upper = int16_t(upper),
        .is_signed = m.is_signed,
        .is_short = operands.y_may_be_short && reach < 256,
        .is_whole = lower == (m.is_signed ? -128.f : 0.f) && upper == (m.is_signed ? 127.f : 255.f),
        .has_inner = m.has_inner,
        .has_shift = !operands.shifts.empty(),
        .has_residual = operands.has_residual,
        .is_residual_signed = m.is_residual_signed,
        .residual_scale = m.residual_scale,
        .residual_zero = m.residual_zero};
    if (!m.has_inner) return steps;
    steps.inner = {.scale = m.inner.scale,
                   .inverse = 1 / m.inner.scale,
                   .rounded_off = rounding_error_of_inverse(m.inner.scale),
                   .lower = m.inner.lower() - m.inner.zero,
                   .upper = m.inner.upper() - m.inner.zero};
    steps.is_inner_short = operands.inner_may_be_short &&
                           std::max(std::abs(steps.inner.lower), std::abs(steps.inner.upper)) < 256;
    return steps;
}

}  // namespace mge::cpu
