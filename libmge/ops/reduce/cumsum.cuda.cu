// SPDX-License-Identifier: Apache-2.0
// Floats are summed in double, integers in an unsigned type that wraps. A column is summed by one thread
// where there are columns enough, side by side; else a block sums one, part by part.
#include "libmge/ops/reduce/cumsum.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

template <class T>
using Total = typename pick<is_integer<T>, unsigned long long, double>::type;

struct Scan {
    int64_t outer, length, inner;
    // The start of a column.
    MGE_DEVICE int64_t first(int64_t column) const {
        int64_t row = column / inner;
        return row * length * inner + (column - row * inner);
    }
};

template <class T>
MGE_DEVICE T result(Total<T> total) {
    if constexpr (is_integer<T>)
        return T(total);
    else
        return from_float<T>(float(total));
}

template <class T>
__global__ void scan_columns(const T* x, T* y, Scan scan) {
    for (int64_t column = first_piece(); column < scan.outer * scan.inner; column += piece_step()) {
        int64_t at = scan.first(column);
        Total<T> total = 0;
        for (int64_t i = 0; i < scan.length; ++i, at += scan.inner) {
            total += Total<T>(widen(x[at]));
            y[at] = result<T>(total);
        }
    }
}

// Prefix sum over the values of the warp's lanes.
template <class Sum>
MGE_DEVICE Sum sum_to_lane(Sum value, int lane) {
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        Sum other = __shfl_up_sync(~0u, value, unsigned(by));
        if (lane >= by) value += other;
    }
    return value;
}

// Elements of a column that a thread holds.
constexpr int held = 4;

template <class T>
__global__ void scan_column_by_block(const T* x, T* y, Scan scan) {
    using Sum = Total<T>;
    constexpr int warps = block_threads / 32;
    __shared__ Sum warp_sums[warps];
    int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    for (int64_t column = blockIdx.x; column < scan.outer * scan.inner; column += gridDim.x) {
        int64_t first = scan.first(column);
        Sum before = 0;  // sum of the finished parts
        for (int64_t part = 0; part < scan.length; part += block_threads * held) {
            int64_t mine = part + int64_t(threadIdx.x) * held;
            Sum sums[held], sum = 0;
#pragma unroll
            for (int k = 0; k < held; ++k) {
                if (mine + k < scan.length) sum += Sum(widen(x[first + (mine + k) * scan.inner]));
                sums[k] = sum;
            }
            Sum to_lane = sum_to_lane(sum, lane);
            if (lane == 31) warp_sums[warp] = to_lane;
            __syncthreads();
            // The sum before the lane; a difference would make NaN of infinities.
            Sum in_front = __shfl_up_sync(~0u, to_lane, 1u);
            Sum offset = before + (lane ? in_front : Sum(0));
#pragma unroll
            for (int w = 0; w < warps; ++w) {
                if (w < warp) offset += warp_sums[w];
                before += warp_sums[w];
            }
#pragma unroll
            for (int k = 0; k < held; ++k)
                if (mine + k < scan.length) y[first + (mine + k) * scan.inner] = result<T>(offset + sums[k]);
            __syncthreads();
        }
    }
}

}  // namespace

void cumsum(Stream stream, int type, const void* x, void* y, int64_t outer, int64_t length, int64_t inner) {
    // Fewer columns than fill the GPU, or threads of a warp far apart.
    constexpr int64_t few = 1 << 14;
    int64_t columns = outer * inner;
    bool is_long = length >= 64 && (inner < 32 || columns < few);
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        auto* kernel = is_long ? scan_column_by_block<T> : scan_columns<T>;
        launch(kernel, grid_for(is_long ? columns * block_threads : columns), block_threads, 0, stream,
               static_cast<const T*>(x), static_cast<T*>(y), Scan{outer, length, inner});
    });
}

}  // namespace mge::cuda
