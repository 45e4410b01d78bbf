// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/slice.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/copy_algorithms.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct Change {
    StridedCopy places;
    cpu::CopyLoops copy;
    size_t bytes;  // size of the whole tensor
    DType dtype;
};

Prepared prepare_change(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    StridedCopy places = plan_slice_change(context.problem);
    return Prepared::make(Change{places, cpu::CopyLoops(places), x.bytes(), x.dtype});
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
        return T(ComputedAs<T>(a) + ComputedAs<T>(b));
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto& change = prepared.state<Change>();
    copy_input(change, launch);
    auto& places = change.places.shape();
    auto &value_side = change.places.source(), &target_side = change.places.target();
    int rank = places.rank();
    int64_t inner = rank ? places[rank - 1] : 1, value_step = rank ? value_side.strides[rank - 1] : 0,
            target_step = rank ? target_side.strides[rank - 1] : 0;
    dispatch_dtype(change.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        int64_t rows = inner ? places.numel() / inner : 0;
        int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, inner));
        par_for(launch.threads, rows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                int64_t from = value_side.offset, to = target_side.offset, rest = row;
                for (int i = rank - 2; i >= 0; --i) {
                    from += rest % places[i] * value_side.strides[size_t(i)];
                    to += rest % places[i] * target_side.strides[size_t(i)];
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

KernelList kernels(Cpu, Slice) { return copy_algorithms<plan_slice>(); }

KernelList kernels(Cpu, SetSlice) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_change, run_set},
        {"reference", plain_layouts, prepare_change, run_set_reference, {.naive = true}}};
    return list;
}

KernelList kernels(Cpu, AddSlice) { return one_algorithm<prepare_change, run_add>("reference"); }

}  // namespace mge::ops
