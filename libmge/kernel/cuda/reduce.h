// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions over any axes, as they are planned on the host (plan_reduction.h) and done by reduce.cuh.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Kept and reduced axes alternate once neighbours of one kind are joined.
inline constexpr int max_groups = (max_axes + 1) / 2;
// Outermost first; strides in elements.
struct AxisGroups {
    int count;
    int64_t extent[max_groups], stride[max_groups];
};

enum class ReduceMethod : int {
    lanes,    // some lanes of a warp for each output
    rows,     // a block for each output
    columns,  // a block for neighbouring outputs, whose elements lie side by side
};

struct ReduceGeometry {
    AxisGroups kept, reduced;
    int64_t outputs, length;  // length: elements of each output
    ReduceMethod method;
    int lanes;       // by method: lanes per output, or threads of a block that stand side by side
    bool is_packed;  // elements may be loaded 16 bytes at once, if the address allows it
    // Where there are few outputs their elements are cut into pieces, whose totals are joined by a second
    // launch; elements per piece.
    int64_t pieces, piece;
};

}  // namespace mge::cuda
