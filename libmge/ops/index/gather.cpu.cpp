// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/gather.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/check_indices.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct Places {
    std::string_view op;
    Shape index;
    Strides strides;  // those of x, 0 along the axis
    int axis;
    int64_t axis_stride, extent;
    DType dtype;
    size_t bytes;  // size of x
};

Prepared prepare_places(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& x = problem.inputs[0];
    int axis = normalize_axis(problem.op, problem.as<Gather::Params>().axis, x.shape.rank());
    Strides strides = dense_strides(x.shape);
    int64_t axis_stride = std::exchange(strides[size_t(axis)], 0);
    return Prepared::make(Places{problem.op, problem.inputs[1].shape, strides, axis, axis_stride,
                                 x.shape[axis], x.dtype, x.bytes()});
}

// Calls fn(position in the index tensor, position in x) for rows [begin, end) of the index tensor. Sizes are
// read once, because the compiler must assume that fn changes them.
template <class Fn>
void for_rows(const Places& places, const int32_t* index, int64_t begin, int64_t end, Fn fn) {
    const int rank = places.index.rank();
    const int64_t length = places.index[rank - 1], step = places.strides[size_t(rank - 1)];
    const int64_t extent = places.extent, axis_stride = places.axis_stride;
    for (int64_t row = begin; row < end; ++row) {
        int64_t base = 0, rest = row;
        for (int i = rank - 2; i >= 0; --i) {
            base += rest % places.index[i] * places.strides[size_t(i)];
            rest /= places.index[i];
        }
        const int64_t first = row * length;
        if (step == 0 && axis_stride == 1)  // along the last axis
            for (int64_t at = first; at < first + length; ++at) fn(at, base + from_end(index[at], extent));
        else
            for (int64_t i = 0; i < length; ++i)
                fn(first + i, base + i * step + from_end(index[first + i], extent) * axis_stride);
    }
}

int64_t rows_of(const Places& places) {
    int64_t length = places.index[places.index.rank() - 1];
    return length ? places.index.numel() / length : 0;
}
void check(const Places& places, const Launch& launch) {
    check_indices(places.op, places.axis, launch.in<int32_t>(1), places.index.numel(), places.extent);
}

void run_gather(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    check(places, launch);
    int64_t length = std::max<int64_t>(1, places.index[places.index.rank() - 1]);
    dispatch_size(places.dtype, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, rows_of(places), std::max<int64_t>(1, parallel_grain / length),
                [&places, index = launch.in<int32_t>(1), x = launch.in<T>(0), y = launch.out<T>(0)](
                    int64_t begin, int64_t end) {
                    for_rows(places, index, begin, end, [=](int64_t at, int64_t place) { y[at] = x[place]; });
                });
    });
}

// One thread: several elements may go to one place, and their order counts.
template <bool add, class T>
void change(const Places& places, const Launch& launch) {
    check(places, launch);
    if (launch.inputs[0] != launch.outputs[0] && places.bytes)
        std::memcpy(launch.outputs[0], launch.inputs[0], places.bytes);
    T* y = launch.out<T>(0);
    const T* source = launch.in<T>(2);
    for_rows(places, launch.in<int32_t>(1), 0, rows_of(places), [=](int64_t at, int64_t place) {
        if constexpr (!add)
            y[place] = source[at];
        else if constexpr (std::is_integral_v<T>)
            y[place] = T(y[place] + source[at]);
        else
            y[place] = T(ComputedAs<T>(y[place]) + ComputedAs<T>(source[at]));
    });
}

void run_scatter(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    dispatch_size(places.dtype, [&]<class T>(std::type_identity<T>) { change<false, T>(places, launch); });
}
void run_scatter_add(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    dispatch_dtype(places.dtype, NumberTypes{},
                   [&]<class T>(std::type_identity<T>) { change<true, T>(places, launch); });
}

}  // namespace

KernelList kernels(Cpu, Gather) { return one_algorithm<prepare_places, run_gather>("rows"); }
KernelList kernels(Cpu, Scatter) { return one_algorithm<prepare_places, run_scatter>("rows"); }
KernelList kernels(Cpu, ScatterAdd) { return one_algorithm<prepare_places, run_scatter_add>("rows"); }

}  // namespace mge::ops
