// SPDX-License-Identifier: Apache-2.0
#pragma once
// How device code starts its kernels. Without <<<>>>, so that a host compiler can read the code too: the
// tests compile it against a runtime that emulates a GPU.

#include <cuda_runtime.h>

#include "libmge/kernel/cuda/blocks.h"
#include "libmge/kernel/cuda/grid.cuh"

namespace mge::cuda {

// Throws the runtime's errors (device/cuda/runtime.h).
void check_launch(cudaError_t status);

inline constexpr int block_threads = 256;

// Number of blocks of block_threads for so many independent pieces of work, in a grid-stride loop.
inline unsigned grid_for(int64_t pieces) {
    return bounded_blocks((pieces + block_threads - 1) / block_threads);
}

// Whether packs can be loaded from there and stored.
inline bool is_aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % pack_bytes == 0; }

// Calls fn(static_cast<T*>(nullptr)) with the one of these types that has this number among AllTypes.
template <class... T, class Fn>
void dispatch_type(int type, Types<T...>, Fn&& fn) {
    bool is_listed = ((type == type_number<T> ? (fn(static_cast<T*>(nullptr)), true) : false) || ...);
    if (!is_listed) check_launch(cudaErrorInvalidValue);
}

#ifdef MGE_EMULATES_CUDA
using emulated::dynamic_shared;
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, Stream stream, A... arguments) {
    check_launch(emulated::launch(stream, grid, block, shared, [=] { kernel(P(arguments)...); }));
}
#else
// Dynamic shared memory of a block.
template <class T>
__device__ T* dynamic_shared() {
    extern __shared__ uint4 dynamic_bytes[];
    return reinterpret_cast<T*>(dynamic_bytes);
}
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, Stream stream, A... arguments) {
    static_assert(sizeof...(P) == sizeof...(A));
    [&](P... values) {
        void* addresses[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
        check_launch(
            cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, addresses, shared, stream));
    }(P(arguments)...);
}
#endif

}  // namespace mge::cuda
