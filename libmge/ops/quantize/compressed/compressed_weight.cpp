// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_weight.h"

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"

namespace mge::ops {
namespace {

// No memory holds a row of more, and what follows from it is no overflow.
constexpr int64_t most_columns = int64_t(1) << 48;

void check_spec(std::string_view who, std::string_view what, const TensorSpec& spec, DType dtype,
                const Shape& shape) {
    if (spec.dtype != dtype || !(spec.shape == shape))
        throw_user(who,
                   text("its ", what, " must be ", dtype, " of shape ", shape, ", got ", spec.dtype,
                        " of shape ", spec.shape),
                   spec.dtype == dtype ? ErrorClass::value : ErrorClass::type);
}

}  // namespace

CompressedWeight compressed_weight(std::string_view who, int64_t bits, int64_t group, int64_t columns,
                                   const TensorSpec& steps, const TensorSpec& scale, const TensorSpec& zero) {
    if (bits != 4 && bits != 8) throw_value_error(who, "quantised weights have 4 or 8 bits, not ", bits);
    // A byte belongs to one group.
    const int64_t columns_in_byte = 8 / bits;
    if (group < 0 || group % columns_in_byte)
        throw_value_error(who, "a group must have an even number of columns, got ", group);
    if (group > most_columns)
        throw_value_error(who, "a group of ", group, " columns, at most ", most_columns);
    if (columns < 1 || columns > most_columns)
        throw_value_error(who, "a matrix of ", columns, " columns, expected 1 to ", most_columns);
    if (steps.shape.rank() != 2)
        throw_user(who, text("its quantised weights must be a matrix of bytes, got shape ", steps.shape));
    CompressedWeight weight{steps.shape[0], columns, group ? group : round_up(columns, columns_in_byte),
                            int(bits)};
    check_spec(who, "steps", steps, DType::u8, {weight.rows, weight.row_bytes()});
    check_spec(who, "scales", scale, DType::f32, {weight.rows, weight.groups()});
    if (!zero.is_absent()) check_spec(who, "zero points", zero, DType::u8, scale.shape);
    return weight;
}

CompressedData compressed_data(const Launch& launch, size_t first) {
    return {launch.in<uint8_t>(first), launch.in<float>(first + 1), launch.in_if_given<uint8_t>(first + 2)};
}

float weight_at(const CompressedWeight& s, const CompressedData& data, int64_t row, int64_t column) {
    const int64_t g = column / s.group, within = column % s.group, at = row * s.groups() + g;
    const uint8_t* steps = data.steps + row * s.row_bytes() + g * s.group_bytes();
    int step = steps[within * s.bits / 8];
    if (s.bits == 4) step = within % 2 ? step >> 4 : step & 15;
    const float zero = data.zero ? float(data.zero[at]) : float(s.middle());
    return (float(step) - zero) * data.scale[at];
}

}  // namespace mge::ops
