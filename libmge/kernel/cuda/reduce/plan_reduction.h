// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "libmge/kernel/cuda/reduce/reduce.h"
#include "libmge/tensor/shape.h"

namespace mge::cuda {

// For a row-major tensor over some of its axes; `pack` elements are loaded at once if possible.
ReduceGeometry plan_reduction(const Shape& x, const std::array<bool, max_rank>& reduced, int pack);

// For the totals of pieces.
size_t reduction_workspace(const ReduceGeometry& geometry, size_t bytes_of_total);

}  // namespace mge::cuda
