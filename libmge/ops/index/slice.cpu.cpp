// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice.h"

#include <cstring>

#include "libmge/kernel/cpu/copy_algorithms.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/assigned_value.h"
#include "libmge/ops/index/slice_items.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// The places of x that the ranges name.
StridedSide places_in(const Shape& x, const std::vector<AxisRange>& ranges) {
    Strides strides = dense_strides(x);
    StridedSide side;
    size_t kept = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
        side.offset += ranges[i].first * strides[i];
        if (ranges[i].dropped) continue;
        // A single element needs no stride; a huge step times a stride may not even fit.
        side.strides[kept++] = ranges[i].count > 1 ? ranges[i].step * strides[i] : 0;
    }
    return side;
}

StridedCopy plan_slice(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    auto ranges = ranges_of(Slice::name, problem.as<Slice::Params>().items, x.shape);
    return {size_of(x.dtype), y.shape, places_in(x.shape, ranges), {0, dense_strides(y.shape)}};
}

struct Change {
    Shape places;
    StridedSide value, target;
    StridedCopy copy;
    size_t bytes;  // of the whole tensor
    DType dtype;
};

Prepared prepare_change(const PrepareContext& context) {
    auto& problem = context.problem;
    auto &x = problem.inputs[0], &value = problem.inputs[1];
    auto ranges = ranges_of(problem.op, problem.as<Slice::Params>().items, x.shape);
    Shape places = shape_of_ranges(ranges), shape = check_value_shape(problem.op, value.shape, places);
    StridedSide source{0, broadcast_strides(shape, places)}, target = places_in(x.shape, ranges);
    return Prepared::make(Change{places, source, target,
                                 StridedCopy(size_of(x.dtype), places, source, target), x.bytes(), x.dtype});
}

void copy_input(const Change& change, const Launch& launch) {
    const char* x = launch.in<char>(0);
    char* y = launch.out<char>(0);
    if (x == y) return;
    constexpr int64_t bytes_per_nanosecond = 8;
    par_for(launch.threads, int64_t(change.bytes), parallel_grain * bytes_per_nanosecond,
            [&](int64_t begin, int64_t end) { std::memcpy(y + begin, x + begin, size_t(end - begin)); });
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& change = prepared.state<Change>();
    copy_input(change, launch);
    change.copy.run(launch.inputs[1], launch.outputs[0], launch.threads);
}
void run_set_reference(const Prepared& prepared, const Launch& launch) {
    auto& change = prepared.state<Change>();
    copy_input(change, launch);
    change.copy.run_naive(launch.inputs[1], launch.outputs[0]);
}

template <class T>
T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return T(a + b);
    else
        return T(float(a) + float(b));
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto& change = prepared.state<Change>();
    copy_input(change, launch);
    auto& places = change.places;
    int rank = places.rank();
    int64_t inner = rank ? places[rank - 1] : 1, value_step = rank ? change.value.strides[rank - 1] : 0,
            target_step = rank ? change.target.strides[rank - 1] : 0;
    dispatch_dtype(change.dtype, NumberTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        int64_t rows = inner ? places.numel() / inner : 0;
        int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, inner));
        par_for(launch.threads, rows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                int64_t from = change.value.offset, to = change.target.offset, rest = row;
                for (int i = rank - 2; i >= 0; --i) {
                    from += rest % places[i] * change.value.strides[size_t(i)];
                    to += rest % places[i] * change.target.strides[size_t(i)];
                    rest /= places[i];
                }
                const T* value = launch.in<T>(1) + from;
                T* y = launch.out<T>(0) + to;
                for (int64_t i = 0; i < inner; ++i)
                    y[i * target_step] = sum(y[i * target_step], value[i * value_step]);
            }
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Slice) {
    static constexpr auto list = copy_algorithms<plan_slice>();
    return list;
}

KernelList kernels(Cpu, SetSlice) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_change, run_set},
        {"reference", plain_layouts, prepare_change, run_set_reference, {.naive = true}}};
    return list;
}

KernelList kernels(Cpu, AddSlice) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_change, run_add}};
    return list;
}

}  // namespace mge::ops
