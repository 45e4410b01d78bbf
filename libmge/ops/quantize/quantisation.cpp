// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantisation.h"

#include "libmge/base/error.h"
#include "libmge/op/apply.h"

namespace mge::ops {
namespace {

bool broadcasts(std::string_view who, const Shape& scale, const Shape& x) {
    int ahead = x.rank() - scale.rank();
    for (int i = 0; i < scale.rank(); ++i)
        if (scale[i] != 1 && (ahead + i < 0 || !can_be_equal(who, x.extent(ahead + i), scale[i])))
            return false;
    return true;
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
    if (!holds_steps(dtype)) throw_type_error(who, "quantised values are uint8, int8 or int32, got ", dtype);
    StepRange whole = full_range(dtype);
    if (lower == 0 && upper == 0) return whole;
    if (lower < whole.lower || upper > whole.upper || lower > upper)
        throw_value_error(who, "quantised values of ", dtype, " are in [", whole.lower, ", ", whole.upper,
                          "], got [", lower, ", ", upper, "]");
    return {lower, upper};
}

Channels::Channels(const Shape& x, const Shape& scale) {
    int ahead = x.rank() - scale.rank();
    int64_t stride = 1;
    for (int i = x.rank() - 1; i >= 0; --i) {
        int64_t extent = i < ahead ? 1 : scale[i - ahead];
        if (axes_.empty() && extent == 1) {
            inner_ *= x[i];
            continue;
        }
        rows_ *= x[i];
        axes_.push_back({x[i], extent == 1 ? 0 : stride});
        stride *= extent;
    }
}

void check_scale(std::string_view who, const Shape& x, const TensorSpec& scale, const TensorSpec& zero_point,
                 DType zero_dtype) {
    if (scale.dtype != DType::f32) throw_type_error(who, "its scale must be float32, got ", scale.dtype);
    if (!broadcasts(who, scale.shape, x))
        throw_user(who, text("its scale does not broadcast from shape ", scale.shape, " to ", x));
    if (zero_point.is_absent()) return;
    if (zero_point.dtype != zero_dtype)
        throw_type_error(who, "its zero point must be ", zero_dtype, ", got ", zero_point.dtype);
    if (zero_point.shape.numel() != scale.shape.numel())
        throw_user(who, text("it needs as many zero points as scales, got shapes ", zero_point.shape, " and ",
                             scale.shape));
}

}  // namespace mge::ops
