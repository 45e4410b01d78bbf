// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions over any axes, as they are planned on the host (plan_reduction.h) and done by reduce.cuh, or by
// text that is compiled while the program runs.

#include "libmge/kernel/cuda/blocks.h"

namespace mge::cuda {

// Kept and reduced axes alternate once neighbours of one kind are joined.
inline constexpr int max_groups = (max_axes + 1) / 2;
inline constexpr int reduce_threads = 256;  // threads of a block
// Outermost first; strides in elements.
struct AxisGroups {
    int count;
    int64_t extent[max_groups], stride[max_groups];
};

enum class ReduceMethod : int {
    lanes,    // some lanes of a warp for each output
    rows,     // a block for each output
    columns,  // a block for neighbouring outputs, whose elements are contiguous
};

struct ReduceGeometry {
    AxisGroups kept, reduced;
    int64_t outputs, length;  // length: elements of each output
    ReduceMethod method;
    int lanes;       // by method: lanes per output, or neighbouring threads of a block
    bool is_packed;  // elements may be loaded 16 bytes at once, if the address is aligned
    // With few outputs their elements are divided into pieces, whose totals a second launch combines;
    // elements per piece.
    int64_t pieces, piece;
};

// Blocks that process all elements, `pack` at once.
inline unsigned reduce_blocks(const ReduceGeometry& g, int pack) {
    if (g.method == ReduceMethod::lanes)
        return bounded_blocks((g.outputs * g.lanes + reduce_threads - 1) / reduce_threads);
    if (g.method == ReduceMethod::rows) return bounded_blocks(g.outputs * g.pieces);
    int64_t columns = g.kept.extent[g.kept.count - 1], width = int64_t(g.lanes) * pack;
    return bounded_blocks(g.outputs / columns * ((columns + width - 1) / width) * g.pieces);
}
// Blocks that combine the pieces: a warp for each output.
inline unsigned join_blocks(const ReduceGeometry& g) {
    return bounded_blocks((g.outputs * 32 + reduce_threads - 1) / reduce_threads);
}

}  // namespace mge::cuda
