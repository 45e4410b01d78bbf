// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows.h"

#include <cstring>

#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

using Strides = std::array<int64_t, max_rank>;

// Bytes to the next element along each axis of the output; 0 where the input repeats.
Strides broadcast_strides(const TensorSpec& input, const Shape& output) {
    Strides strides{};
    int64_t step = int64_t(size_of(input.dtype));
    int shift = output.rank() - input.shape.rank();
    for (int axis = input.shape.rank() - 1; axis >= 0; --axis) {
        bool repeats = input.shape[axis] == 1 && output[axis + shift] != 1;
        strides[size_t(axis + shift)] = repeats ? 0 : step;
        step *= input.shape[axis];
    }
    return strides;
}

// True when all operands step through loop `outer` as if it continued loop `inner`.
bool continues(const LoopNest& nest, int outer, int inner, int inputs) {
    auto fits = [&](auto& stride) {
        return stride[size_t(outer)] == stride[size_t(inner)] * nest.extent[size_t(inner)];
    };
    for (int i = 0; i < inputs; ++i)
        if (!fits(nest.in_stride[size_t(i)])) return false;
    return fits(nest.out_stride);
}

void remove_loop(LoopNest& nest, int loop) {
    auto erase = [&](auto& list) {
        for (int i = loop; i + 1 < nest.loops; ++i) list[size_t(i)] = list[size_t(i + 1)];
    };
    erase(nest.extent);
    erase(nest.out_stride);
    for (auto& stride : nest.in_stride) erase(stride);
    --nest.loops;
}

LoopNest plain_loops(const TensorSpec& output) {
    LoopNest nest;
    nest.loops = output.shape.rank();
    std::copy(output.shape.begin(), output.shape.end(), nest.extent.begin());
    nest.out_stride = broadcast_strides(output, output.shape);
    return nest;
}

// Drops loops of one round and joins those that continue each other.
void simplify(LoopNest& nest, int inputs) {
    for (int loop = nest.loops - 1; loop >= 0; --loop)
        if (nest.extent[size_t(loop)] == 1) remove_loop(nest, loop);
    for (int inner = nest.loops - 1; inner > 0; --inner)
        if (continues(nest, inner - 1, inner, inputs)) {
            nest.extent[size_t(inner)] *= nest.extent[size_t(inner - 1)];
            remove_loop(nest, inner - 1);
        }
    if (nest.loops == 0) {  // one element
        nest.loops = 1;
        nest.extent[0] = 1;
    }
}

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

LoopNest make_loop_nest(std::span<const TensorSpec> inputs, const TensorSpec& output) {
    LoopNest nest = plain_loops(output);
    for (size_t i = 0; i < inputs.size(); ++i) nest.in_stride[i] = broadcast_strides(inputs[i], output.shape);
    simplify(nest, int(inputs.size()));
    return nest;
}

LoopNest make_loop_nest(const Strides& in_stride, const TensorSpec& output) {
    LoopNest nest = plain_loops(output);
    nest.in_stride[0] = in_stride;
    simplify(nest, 1);
    return nest;
}

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
