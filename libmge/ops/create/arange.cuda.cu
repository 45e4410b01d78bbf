// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

// Rounds twice, as the CPU does: an integer must not depend on it.
MGE_DEVICE double on_line(double start, double step, int64_t i) {
    return __dadd_rn(start, __dmul_rn(double(i), step));
}

// Numbers out of range become the lowest one, as on a CPU.
MGE_DEVICE int64_t truncated(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? int64_t(x) : Limits<int64_t>::lowest;
}

template <class T>
__global__ void store_line(T* y, int64_t count, double start, double step) {
    for (int64_t i = first_piece(); i < count; i += piece_step()) {
        double value = on_line(start, step, i);
        if constexpr (is_integer<T>)
            y[i] = T(truncated(value));
        else
            y[i] = from_float<T>(float(value));
    }
}

template <class T>
MGE_DEVICE double read_as(const void* address) {
    return double(widen(*static_cast<const T*>(address)));
}
template <class... T>
MGE_DEVICE double number_at(LineEnd end, Types<T...>) {
    double value = end.value;
    int type = 0;
    ((end.address && type++ == end.type ? void(value = read_as<T>(end.address)) : void()), ...);
    return value;
}

__global__ void store_line_between(float* y, int64_t count, LineEnd first, LineEnd last) {
    double start = number_at(first, AllTypes{}), stop = number_at(last, AllTypes{});
    double step = count > 1 ? (stop - start) / double(count - 1) : 0;
    for (int64_t i = first_piece(); i < count; i += piece_step()) y[i] = float(on_line(start, step, i));
}

}  // namespace

void fill_line(Stream stream, void* y, int64_t count, int type, double start, double step) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        launch(store_line<T>, grid_for(count), block_threads, 0, stream, static_cast<T*>(y), count, start,
               step);
    });
}

void fill_line_between(Stream stream, float* y, int64_t count, LineEnd start, LineEnd stop) {
    launch(store_line_between, grid_for(count), block_threads, 0, stream, y, count, start, stop);
}

}  // namespace mge::cuda
