// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of elements in layouts, and reorders as strided copies.

#include <array>
#include <optional>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/strided_copy.h"

namespace mge::ops {

// The offset of index i of an axis: (i / block) * outer + (i % block) * inner elements from the start.
struct AxisPlaces {
    int64_t block = 1, outer = 0, inner = 0;
    int64_t at(int64_t i) const { return i / block * outer + i % block * inner; }
};
using ElementPlaces = std::array<AxisPlaces, max_rank>;

// Nullopt when an axis has several blocks.
std::optional<ElementPlaces> places_of(const TensorSpec& spec);
Support has_places(const Problem& problem);

// Whole blocks as one copy along strides, the last, incomplete ones as another.
struct ReorderPlan {
    std::vector<StridedCopy> copies;
    size_t zeroed = 0;  // bytes to clear before: where the target pads
};
MGE_API Support supports_reorder_plan(const Problem& problem);
MGE_API ReorderPlan plan_reorder(const Problem& problem);

}  // namespace mge::ops
