// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the operators on compressed weights (kernel/compressed_weight.h): steps (u8, one row of
// bytes for each row of the matrix), scales (f32, one row of groups) and zero points (u8, like the scales).

#include <span>
#include <string_view>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/compressed_weight.h"

namespace mge::ops {

// `columns` of the matrix; a group of 0 is a whole row. UserError of `who` when the specs do not fit
// together.
MGE_API CompressedWeight compressed_weight(std::string_view who, int64_t bits, int64_t group, int64_t columns,
                                           const TensorSpec& steps, const TensorSpec& scale,
                                           const TensorSpec& zero);

// From input `first` on: steps, scale, zero point.
MGE_API CompressedData compressed_data(const Launch& launch, size_t first);

// w[row * columns + column], each as the definition says: for references.
float weight_at(const CompressedWeight& shape, const CompressedData& data, int64_t row, int64_t column);

}  // namespace mge::ops
