// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of the results of a program (fused.cuh), which are never stored.

#include "libmge/kernel/cuda/fused.cuh"
#include "libmge/kernel/cuda/reduce/reduce_loops.cuh"
#include "libmge/kernel/cuda/reduce/totals.cuh"

namespace mge::cuda {

template <class P, class F, class A>
struct FusedReduction : Totals<F, A> {
    const FusedArguments& x;

    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t, int, A (&v)[pack]) const {
        typename P::Result elements[pack];
        P::template load<pack>(x, at, elements);
#pragma unroll
        for (int k = 0; k < pack; ++k) v[k] = A(widen(elements[k]));
    }
};
template <class P, class F, class A>
MGE_DEVICE FusedReduction<P, F, A> fused_reduction(const FusedReduceArguments& x) {
    return {{x.program.out, x.y_type, x.divisor}, x.program};
}

template <class P, class F, class A, ReduceMethod method, int pack>
MGE_DEVICE void reduce_fused(const FusedReduceArguments& x) {
    auto reduction = fused_reduction<P, F, A>(x);
    auto* totals = static_cast<typename Totals<F, A>::Total*>(x.totals);
    if constexpr (pack > 1)
        if (x.program.packs) return reduce_by<method, pack>(reduction, x.geometry, totals);
    reduce_by<method, 1>(reduction, x.geometry, totals);
}
template <class P, class F, class A>
MGE_DEVICE void join_fused(const FusedReduceArguments& x) {
    join_pieces(fused_reduction<P, F, A>(x), x.geometry,
                static_cast<const typename Totals<F, A>::Total*>(x.totals));
}

}  // namespace mge::cuda
