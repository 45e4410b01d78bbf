// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/rows.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

Rows innermost_rows(const LoopNest& nest, int inputs) {
    Rows rows;
    size_t last = size_t(nest.loops - 1);
    rows.n = nest.extent[last];
    for (size_t i = 0; i < size_t(inputs); ++i) rows.is_scalar[i] = nest.in_stride[i][last] == 0;
    if (nest.loops < 2) return rows;
    rows.rows = nest.extent[last - 1];
    rows.out_stride = nest.out_stride[last - 1];
    for (size_t i = 0; i < size_t(inputs); ++i) rows.row_stride[i] = nest.in_stride[i][last - 1];
    return rows;
}

// Rows [begin, end) of all rows, counted over all loops but the innermost.
void run_row_range(const ElementwiseState& state, const Rows& base, int64_t begin, int64_t end) {
    auto& nest = state.nest;
    while (begin < end) {
        Rows rows = base;
        int64_t within = begin % base.rows, outer = begin / base.rows;
        rows.rows = std::min(base.rows - within, end - begin);
        int64_t out_offset = within * base.out_stride;
        std::array<int64_t, max_row_inputs> offsets{};
        for (size_t i = 0; i < size_t(state.inputs); ++i) offsets[i] = within * base.row_stride[i];
        for (int loop = nest.loops - 3; loop >= 0; --loop) {
            size_t l = size_t(loop);
            int64_t at = outer % nest.extent[l];
            outer /= nest.extent[l];
            out_offset += at * nest.out_stride[l];
            for (size_t i = 0; i < size_t(state.inputs); ++i) offsets[i] += at * nest.in_stride[i][l];
        }
        rows.out += out_offset;
        for (size_t i = 0; i < size_t(state.inputs); ++i) rows.in[i] += offsets[i];
        state.run(rows);
        begin += rows.rows;
    }
}

// Columns [begin, end) of all rows: for few, long rows.
void run_column_range(const ElementwiseState& state, Rows rows, int64_t all_rows, int64_t begin,
                      int64_t end) {
    size_t last = size_t(state.nest.loops - 1);
    rows.n = end - begin;
    rows.out += begin * state.nest.out_stride[last];
    for (size_t i = 0; i < size_t(state.inputs); ++i) rows.in[i] += begin * state.nest.in_stride[i][last];
    run_row_range(state, rows, 0, all_rows);
}

}  // namespace

Prepared prepare_elementwise(const Problem& problem, RowsFn run, RowsFn inner, const void* functor,
                             size_t functor_bytes, int64_t grain) {
    MGE_CHECK(functor_bytes <= max_functor_bytes);
    ElementwiseState state;
    state.run = run;
    state.inner = inner;
    state.inputs = int(problem.inputs.size());
    state.numel = problem.outputs[0].numel();
    state.grain = grain;
    state.nest = make_loop_nest(problem.inputs, problem.outputs[0]);
    state.rows = innermost_rows(state.nest, state.inputs);
    state.rows.inner = inner;
    if (functor_bytes) std::memcpy(state.functor.data(), functor, functor_bytes);
    return Prepared::make(std::move(state));
}

void run_elementwise(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ElementwiseState>();
    if (state.numel == 0) return;
    Rows rows = state.rows;
    rows.functor = state.functor.data();
    rows.out = launch.out<char>(0);
    for (size_t i = 0; i < size_t(state.inputs); ++i) rows.in[i] = launch.in<char>(i);
    bool is_small = launch.threads <= 1 || state.numel < 2 * state.grain;
    if (is_small && state.nest.loops <= 2) return state.run(rows);
    int64_t all_rows = state.numel / rows.n;
    if (is_small) return run_row_range(state, rows, 0, all_rows);
    if (all_rows >= rows.n || all_rows >= 4 * launch.threads)
        par_for(launch.threads, all_rows, std::max<int64_t>(1, state.grain / rows.n),
                [&](int64_t begin, int64_t end) { run_row_range(state, rows, begin, end); });
    else
        par_for(launch.threads, rows.n, std::max<int64_t>(1, state.grain / all_rows),
                [&](int64_t begin, int64_t end) { run_column_range(state, rows, all_rows, begin, end); });
}

}  // namespace mge::cpu
