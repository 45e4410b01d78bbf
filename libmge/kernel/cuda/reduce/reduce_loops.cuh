// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions over any axes. An object R defines the elements and the reduction:
//
//     using Value = ..., Total = ...;  // of a few elements, of many
//     static Value combine(Value, Value);
//     static Total widen(Value), join(Total, Total), identity();
//     // The elements at `at`, which are number r, r + step, ... of their output (step 0: r of neighbouring
//     // outputs).
//     template <int pack> void load(int64_t at, int64_t r, int step, Value (&v)[pack]) const;
//     void store(int64_t output, Total) const;
//
// So elements need not be in memory, and a total may be stored in several places. The order of combination
// depends only on the geometry.

#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/reduce/reduce.h"
#include "libmge/kernel/cuda/together.cuh"

namespace mge::cuda {

// The offset of the element with this number among the groups.
MGE_DEVICE int64_t place(const AxisGroups& groups, int64_t number) {
    if (groups.count < 2) return groups.count ? number * groups.stride[0] : 0;
    int64_t at = 0;
#pragma unroll 1
    for (int i = groups.count - 1; i > 0; --i) at += split_index(number, groups.extent[i]) * groups.stride[i];
    return at + number * groups.stride[0];
}

template <class R>
struct Join {
    MGE_DEVICE typename R::Total operator()(typename R::Total a, typename R::Total b) const {
        return R::join(a, b);
    }
};

// Rounds of a thread whose values are combined before they are widened. Their loads overlap: all offsets are
// computed before the first load, so that there is no branch in between.
inline constexpr int rounds = 4;

// For neighbouring elements.
template <class R, int pack>
MGE_DEVICE typename R::Value combined(typename R::Value (&v)[pack]) {
#pragma unroll
    for (int k = 1; k < pack; ++k) v[0] = R::combine(v[0], v[k]);
    return v[0];
}
// Every step-th pack of elements from `first` up to `end`; numbers count packs.
template <class R, int pack>
MGE_DEVICE typename R::Total run_total(const R& reduction, const AxisGroups& reduced, int64_t base,
                                       int64_t first, int64_t end, int64_t step) {
    typename R::Total total = R::identity();
    int64_t i = first;
    for (; i + (rounds - 1) * step < end; i += rounds * step) {
        int64_t at[rounds];
        typename R::Value v[rounds][pack];
#pragma unroll
        for (int round = 0; round < rounds; ++round)
            at[round] = base + place(reduced, (i + round * step) * pack);
#pragma unroll
        for (int round = 0; round < rounds; ++round)
            reduction.load(at[round], (i + round * step) * pack, 1, v[round]);
        auto upper = R::combine(combined<R>(v[0]), combined<R>(v[1]));
        auto lower = R::combine(combined<R>(v[2]), combined<R>(v[3]));
        total = R::join(total, R::widen(R::combine(upper, lower)));
    }
    for (; i < end; i += step) {
        typename R::Value v[pack];
        reduction.load(base + place(reduced, i * pack), i * pack, 1, v);
        total = R::join(total, R::widen(combined<R>(v)));
    }
    return total;
}

template <class R, int pack>
MGE_DEVICE void reduce_lanes(const R& reduction, const ReduceGeometry& g) {
    int lanes = g.lanes, lane = int(threadIdx.x) % lanes, in_warp = 32 / lanes;
    // Warps stay together, because all their lanes exchange values.
    for (int64_t first = first_piece() / 32 * in_warp; first < g.outputs;
         first += piece_step() / 32 * in_warp) {
        int64_t output = first + int(threadIdx.x) % 32 / lanes;
        typename R::Total total = R::identity();
        if (output < g.outputs)
            total =
                run_total<R, pack>(reduction, g.reduced, place(g.kept, output), lane, g.length / pack, lanes);
        total = across_lanes(total, lanes, Join<R>());
        if (lane == 0 && output < g.outputs) reduction.store(output, total);
    }
}

// For one piece of an output.
template <class R>
MGE_DEVICE void store_piece(const R& reduction, const ReduceGeometry& g, typename R::Total* totals,
                            int64_t output, int64_t piece, typename R::Total total) {
    if (g.pieces > 1)
        totals[output * g.pieces + piece] = total;
    else
        reduction.store(output, total);
}

template <class R, int pack>
MGE_DEVICE void reduce_rows(const R& reduction, const ReduceGeometry& g, typename R::Total* totals) {
    for (int64_t unit = blockIdx.x; unit < g.outputs * g.pieces; unit += gridDim.x) {
        int64_t output = unit / g.pieces, begin = (unit - output * g.pieces) * g.piece;
        int64_t end = begin + g.piece < g.length ? begin + g.piece : g.length;
        auto total = run_total<R, pack>(reduction, g.reduced, place(g.kept, output),
                                        begin / pack + threadIdx.x, end / pack, blockDim.x);
        total = across_block(total, Join<R>());
        if (threadIdx.x == 0) store_piece(reduction, g, totals, output, begin / g.piece, total);
    }
}

// Elements [begin, end) of `pack` outputs side by side, every step-th.
template <class R, int pack>
MGE_DEVICE void column_totals(const R& reduction, const AxisGroups& reduced, int64_t base, int64_t first,
                              int64_t end, int64_t step, typename R::Total (&totals)[pack]) {
    int64_t i = first;
    for (; i + (rounds - 1) * step < end; i += rounds * step) {
        int64_t at[rounds];
        typename R::Value v[rounds][pack];
#pragma unroll
        for (int round = 0; round < rounds; ++round) at[round] = base + place(reduced, i + round * step);
#pragma unroll
        for (int round = 0; round < rounds; ++round) reduction.load(at[round], i + round * step, 0, v[round]);
#pragma unroll
        for (int k = 0; k < pack; ++k)
            totals[k] = R::join(
                totals[k], R::widen(R::combine(R::combine(v[0][k], v[1][k]), R::combine(v[2][k], v[3][k]))));
    }
    for (; i < end; i += step) {
        typename R::Value v[pack];
        reduction.load(base + place(reduced, i), i, 0, v);
#pragma unroll
        for (int k = 0; k < pack; ++k) totals[k] = R::join(totals[k], R::widen(v[k]));
    }
}

// The block's threads form rows of `across`; the first row ends with the totals of all.
template <class R, int pack>
MGE_DEVICE void join_rows(typename R::Total (&totals)[pack], int across) {
    __shared__ typename R::Total of_thread[pack * reduce_threads];
    __syncthreads();  // another thread may still read results of the last call
#pragma unroll
    for (int k = 0; k < pack; ++k) of_thread[k * reduce_threads + threadIdx.x] = totals[k];
    for (int half = reduce_threads / 2; half >= across; half /= 2) {
        __syncthreads();
        if (int(threadIdx.x) < half)
#pragma unroll
            for (int k = 0; k < pack; ++k) {
                auto* at = of_thread + k * reduce_threads + threadIdx.x;
                at[0] = R::join(at[0], at[half]);
            }
    }
#pragma unroll
    for (int k = 0; k < pack; ++k) totals[k] = of_thread[k * reduce_threads + threadIdx.x];
}

template <class R, int pack>
MGE_DEVICE void reduce_columns(const R& reduction, const ReduceGeometry& g, typename R::Total* totals) {
    int across = g.lanes, column = int(threadIdx.x) % across, row = int(threadIdx.x) / across;
    int64_t columns = g.kept.extent[g.kept.count - 1], width = int64_t(across) * pack;
    int64_t tiles = (columns + width - 1) / width, units = g.outputs / columns * tiles * g.pieces;
    for (int64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
        int64_t at = unit % tiles * width + column * pack, begin = unit / tiles % g.pieces * g.piece;
        int64_t output = unit / tiles / g.pieces * columns + at;
        int64_t end = begin + g.piece < g.length ? begin + g.piece : g.length;
        typename R::Total of_columns[pack];
#pragma unroll
        for (int k = 0; k < pack; ++k) of_columns[k] = R::identity();
        if (at < columns)
            column_totals<R, pack>(reduction, g.reduced, place(g.kept, output), begin + row, end,
                                   reduce_threads / across, of_columns);
        join_rows<R, pack>(of_columns, across);
        if (row == 0 && at < columns)
#pragma unroll
            for (int k = 0; k < pack; ++k)
                store_piece(reduction, g, totals, output + k, begin / g.piece, of_columns[k]);
    }
}

// A warp for each output.
template <class R>
MGE_DEVICE void join_pieces(const R& reduction, const ReduceGeometry& g, const typename R::Total* totals) {
    int lane = int(threadIdx.x) % 32;
    for (int64_t output = first_piece() / 32; output < g.outputs; output += piece_step() / 32) {
        typename R::Total total = R::identity();
        for (int64_t first = lane; first < g.pieces; first += rounds * 32) {
            typename R::Total of_pieces[rounds];
#pragma unroll
            for (int round = 0; round < rounds; ++round) {
                int64_t piece = first + round * 32;
                of_pieces[round] = piece < g.pieces ? totals[output * g.pieces + piece] : R::identity();
            }
#pragma unroll
            for (int round = 0; round < rounds; ++round) total = R::join(total, of_pieces[round]);
        }
        total = across_lanes(total, 32, Join<R>());
        if (lane == 0) reduction.store(output, total);
    }
}

// `totals`: of pieces, where there are some.
template <ReduceMethod method, int pack, class R>
MGE_DEVICE void reduce_by(const R& reduction, const ReduceGeometry& g, typename R::Total* totals) {
    if constexpr (method == ReduceMethod::lanes)
        reduce_lanes<R, pack>(reduction, g);
    else if constexpr (method == ReduceMethod::rows)
        reduce_rows<R, pack>(reduction, g, totals);
    else
        reduce_columns<R, pack>(reduction, g, totals);
}

}  // namespace mge::cuda
