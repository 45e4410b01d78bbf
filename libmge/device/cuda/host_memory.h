// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace mge::cuda {

// What the device reads and writes by itself while the host goes on: page-locked memory, and managed memory
// of others'.
inline bool is_read_in_place(const void* address) {
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, address) == cudaSuccess &&
           attributes.type != cudaMemoryTypeUnregistered;
}

}  // namespace mge::cuda
