// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/sort.h"

#include <algorithm>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/order/sort.cuda.h"

namespace mge::ops {
namespace {

cuda::SortedRows rows_of(const Problem& problem, Sort) {
    auto& x = problem.inputs[0].shape;
    auto& p = problem.as<Sort::Params>();
    int axis = normalize_axis(Sort::name, p.axis, x.rank());
    cuda::SortedRows rows{0, x[axis], 1, p.descending, p.nan_is_largest, x[axis], false};
    for (int i = axis + 1; i < x.rank(); ++i) rows.inner *= x[i];
    rows.rows = rows.length ? x.numel() / rows.length : 0;
    return rows;
}
cuda::SortedRows rows_of(const Problem& problem, Topk) {
    auto& x = problem.inputs[0].shape;
    auto& p = problem.as<Topk::Params>();
    int64_t length = x[x.rank() - 1];
    return {x.numel() / length, length, 1, p.descending, p.nan_is_largest, std::min(p.k, length), p.kth_only};
}

struct SortState {
    cuda::SortedRows rows;
    DType dtype;

    int64_t numel() const { return rows.rows * rows.length; }
};

template <class O>
Support supports_bitonic(const Problem& problem) {
    if (rows_of(problem, O{}).length > cuda::longest_short_row) return {"up to 2048 elements in a row"};
    return plain_layouts(problem);
}

template <class O>
Prepared prepare_bitonic(const PrepareContext& context) {
    return Prepared::make(SortState{rows_of(context.problem, O{}), context.problem.inputs[0].dtype});
}

void run_bitonic(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<SortState>();
    if (state.numel() == 0) return;
    cuda::sort_short_rows(cuda::stream_of(launch), cuda::type_index(state.dtype), state.rows,
                          launch.inputs[0], launch.outputs[0], launch.out<int32_t>(1));
}

template <class O>
Support supports_radix(const Problem& problem) {
    constexpr int64_t too_short = 256;  // to pay for several launches
    auto rows = rows_of(problem, O{});
    if (rows.length <= too_short) return {"more than 256 elements in a row"};
    if (rows.length > cuda::most_keys) return {"up to 2^31 elements in a row"};
    return plain_layouts(problem);
}

size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t key_bytes(const SortState& state) {
    return align(size_t(state.numel()) * std::max<size_t>(size_of(state.dtype), 4));
}
size_t number_bytes(const SortState& state) { return align(size_t(state.numel()) * sizeof(uint32_t)); }

template <class O>
Prepared prepare_radix(const PrepareContext& context) {
    SortState state{rows_of(context.problem, O{}), context.problem.inputs[0].dtype};
    size_t counts = size_t(cuda::radix_counts(state.rows.rows, state.rows.length)) * sizeof(uint32_t);
    return Prepared::make(state, 2 * (key_bytes(state) + number_bytes(state)) + counts);
}

void run_radix(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<SortState>();
    if (state.numel() == 0) return;
    char* at = static_cast<char*>(launch.workspace);
    auto take = [&](size_t bytes) { return static_cast<void*>(std::exchange(at, at + bytes)); };
    cuda::KeysToSort<void> keys{.rows = state.rows.rows, .length = state.rows.length};
    keys.keys = take(key_bytes(state));
    keys.other_keys = take(key_bytes(state));
    keys.numbers = static_cast<uint32_t*>(take(number_bytes(state)));
    keys.other_numbers = static_cast<uint32_t*>(take(number_bytes(state)));
    keys.counts = reinterpret_cast<uint32_t*>(at);
    cuda::sort_long_rows(cuda::stream_of(launch), cuda::type_index(state.dtype), state.rows, keys,
                         launch.inputs[0], launch.outputs[0], launch.out<int32_t>(1));
}

template <class O>
constexpr Algorithm algorithms[] = {{"bitonic", supports_bitonic<O>, prepare_bitonic<O>, run_bitonic},
                                    {"radix", supports_radix<O>, prepare_radix<O>, run_radix}};

}  // namespace

KernelList kernels(Cuda, Sort) { return algorithms<Sort>; }
KernelList kernels(Cuda, Topk) { return algorithms<Topk>; }

}  // namespace mge::ops
