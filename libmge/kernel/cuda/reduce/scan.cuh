// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// Prefix sum over the values of the lanes.
template <class T>
MGE_DEVICE T sum_up_to_lane(T value) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        T below = __shfl_up_sync(~0u, value, by);
        if (lane >= by) value += below;
    }
    return value;
}

template <class T>
struct Scanned {
    T before, total;  // the sum of the threads before this one; that of the whole block
};
// For one-dimensional blocks of whole warps; every thread takes part.
template <class T>
MGE_DEVICE Scanned<T> scan_block(T value) {
    __shared__ T sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    T up_to = sum_up_to_lane(value);
    __syncthreads();  // another thread may still read sums of an earlier call
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    T before = up_to - value, total = 0;
    for (int i = 0; i < warps; ++i) {
        if (i == warp) before += total;
        total += sums[i];
    }
    return {before, total};
}

}  // namespace mge::cuda
