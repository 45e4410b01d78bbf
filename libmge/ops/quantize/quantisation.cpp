// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantisation.h"

#include "libmge/base/error.h"
#include "libmge/op/apply.h"

namespace mge::ops {
namespace {

// The axis of x along which a scale differs; -1: none does; nullopt: it does not broadcast so.
std::optional<int> axis_of(const Shape& x, const Shape& scale) {
    int axis = -1, ahead = x.rank() - scale.rank();
    for (int i = 0; i < scale.rank(); ++i) {
        if (scale[i] == 1) continue;
        if (axis >= 0 || ahead + i < 0 || scale[i] != x[ahead + i]) return std::nullopt;
        axis = ahead + i;
    }
    return axis;
}

}  // namespace

StepRange full_range(DType dtype) {
    switch (dtype) {
        case DType::u8:
            return {0, 255};
        case DType::i8:
            return {-128, 127};
        default:
            return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    }
}

StepRange step_range(std::string_view who, DType dtype, int64_t lower, int64_t upper) {
    if (!holds_steps(dtype))
        throw_user(who, text("steps are uint8, int8 or int32, got ", dtype), ErrorClass::type);
    StepRange whole = full_range(dtype);
    if (lower == 0 && upper == 0) return whole;
    if (lower < whole.lower || upper > whole.upper || lower > upper)
        throw_user(who,
                   text("steps of ", dtype, " lie in [", whole.lower, ", ", whole.upper, "], got [", lower,
                        ", ", upper, "]"),
                   ErrorClass::value);
    return {lower, upper};
}

Channels channels_of(const Shape& x, const Shape& scale) {
    int axis = axis_of(x, scale).value_or(-1);
    if (axis < 0) return {.inner = x.numel()};
    Channels channels{.count = x[axis]};
    for (int i = 0; i < axis; ++i) channels.outer *= x[i];
    for (int i = axis + 1; i < x.rank(); ++i) channels.inner *= x[i];
    return channels;
}

void check_scale(std::string_view who, const Shape& x, const TensorSpec& scale, const TensorSpec& zero_point,
                 DType zero_dtype) {
    if (scale.dtype != DType::f32)
        throw_user(who, text("its scale has to be float32, got ", scale.dtype), ErrorClass::type);
    if (!axis_of(x, scale.shape))
        throw_user(who, text("its scale has to be one number, or one for each element of one axis of ", x,
                             "; got shape ", scale.shape));
    if (zero_point.is_absent()) return;
    if (zero_point.dtype != zero_dtype)
        throw_user(who, text("its zero point has to be ", zero_dtype, ", got ", zero_point.dtype),
                   ErrorClass::type);
    if (zero_point.shape.numel() != scale.shape.numel())
        throw_user(who, text("it needs as many zero points as scales, got shapes ", zero_point.shape, " and ",
                             scale.shape));
}

}  // namespace mge::ops
