// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error handling of NVIDIA's runtime. This folder is compiled into libmge_cuda.so.

#include <cuda_runtime_api.h>

#include <string>

namespace mge::cuda {

// Throws MemoryError if the device is out of memory, and DeviceError with the call and its code for other
// errors. Sticky errors (an illegal address, a kernel timeout) make the device unusable for this process. The
// message says so, and later calls fail with the same error.
void check(cudaError_t status, const char* call);

// Ignores a status in destructors and at the end of the process.
inline void ignore(cudaError_t) {}

// Makes the device current for the calling thread. Throws DeviceError in a child of fork(), where CUDA does
// not work.
void use_device(int index);

// The number of usable GPUs. If it is 0, `why_unavailable` gives the reason and the remedy.
struct Installation {
    int devices = 0;
    std::string why_unavailable;
};
Installation find_installation();

}  // namespace mge::cuda
