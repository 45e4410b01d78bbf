// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches of reductions; reduce_loops.cuh defines them.

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/reduce/reduce_loops.cuh"

namespace mge::cuda {

template <ReduceMethod method, int pack, class R>
__global__ void reduce_elements(R reduction, ReduceGeometry g, typename R::Total* totals) {
    reduce_by<method, pack>(reduction, g, totals);
}
template <class R>
__global__ void reduce_pieces(R reduction, ReduceGeometry g, const typename R::Total* totals) {
    join_pieces(reduction, g, totals);
}

template <class R, int pack>
void launch_reduction(Stream stream, const R& reduction, const ReduceGeometry& g, void* workspace) {
    using enum ReduceMethod;
    auto* totals = static_cast<typename R::Total*>(workspace);
    auto kernel = g.method == lanes  ? reduce_elements<lanes, pack, R>
                  : g.method == rows ? reduce_elements<rows, pack, R>
                                     : reduce_elements<columns, pack, R>;
    launch(kernel, reduce_blocks(g, pack), reduce_threads, 0, stream, reduction, g, totals);
    if (g.pieces > 1)
        launch(reduce_pieces<R>, join_blocks(g), reduce_threads, 0, stream, reduction, g, totals);
}

// `pack`: number of elements that R loads at once if geometry and addresses allow it.
template <int pack, class R>
void reduce(Stream stream, const R& reduction, const ReduceGeometry& g, bool are_aligned, void* workspace) {
    if (g.outputs == 0) return;
    if constexpr (pack > 1)
        if (g.is_packed && are_aligned) return launch_reduction<R, pack>(stream, reduction, g, workspace);
    launch_reduction<R, 1>(stream, reduction, g, workspace);
}

}  // namespace mge::cuda
