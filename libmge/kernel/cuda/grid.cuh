// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grid-stride loops: how the threads of a grid share work.

#include <cuda_runtime.h>

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Over the whole grid: the first piece of the calling thread, and the distance to its next one.
__device__ inline int64_t first_piece() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t piece_step() { return int64_t(gridDim.x) * blockDim.x; }

// Elements that a thread loads or stores at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
    T v[n];
};
template <class T>
inline constexpr int pack_size = pack_bytes / sizeof(T);

// Divides an index by a size: returns the remainder, and leaves the quotient in `index`. 64-bit divisions are
// slow, and most tensors do not need them.
__device__ inline int64_t split_index(int64_t& index, int64_t extent) {
    int64_t next = (index | extent) >> 32 ? index / extent : int64_t(uint32_t(index) / uint32_t(extent));
    int64_t within = index - next * extent;
    index = next;
    return within;
}

}  // namespace mge::cuda
