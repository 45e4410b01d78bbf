// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace mge::cuda {

// True if the device can access the host memory asynchronously: page-locked or managed memory.
inline bool is_read_in_place(const void* address) {
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
           attributes.type != cudaMemoryTypeUnregistered;
}

}  // namespace mge::cuda
