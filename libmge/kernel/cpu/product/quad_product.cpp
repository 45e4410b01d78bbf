// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/quad_product.h"

#include <algorithm>
#include <cmath>

namespace mge::cpu {
namespace {

float rounding_error_of_inverse(float scale) { return float(1 / double(scale) - double(1 / scale)); }

}  // namespace

std::optional<QuadSteps> quad_steps(const StepMaking& m, std::span<const float> scales, bool may_be_short) {
    const bool is_relu = m.activation == Activation::relu;
    if (!m.is_even || (m.activation != Activation::none && !is_relu)) return std::nullopt;
    // Nothing on the way leaves the range of floats, and steps fit in 16 bits.
    if (!(m.y_scale > 0x1p-60f && m.y_scale < 0x1p60f && std::abs(m.y_zero) <= 0x1p14f)) return std::nullopt;
    // Sums are less than 2^31, so their quotients are less than 2^30.
    const float most = m.y_scale * 0x1p-2f;
    if (!std::ranges::all_of(scales, [&](float s) { return std::abs(s) <= most; })) return std::nullopt;
    const float upper = m.upper, lower = is_relu ? std::min(std::max(m.lower, m.y_zero), upper) : m.lower;
    const float reach = std::max(std::abs(lower - m.y_zero), std::abs(upper - m.y_zero));
    return QuadSteps{
        .y_scale = m.y_scale,
        .inverse = 1 / m.y_scale,
        .rounded_off = rounding_error_of_inverse(m.y_scale),
        .zero = int16_t(m.y_zero),
        .lower = int16_t(lower),
        .upper = int16_t(upper),
        .is_signed = m.is_signed,
        .is_short = may_be_short && reach < 256,
        .is_whole = lower == (m.is_signed ? -128.f : 0.f) && upper == (m.is_signed ? 127.f : 255.f)};
}

}  // namespace mge::cpu
