// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVIDIA's runtime, with errors that say what to do. Everything of this folder is part of libmge_cuda.so.

#include <cuda_runtime_api.h>

#include <string>

namespace mge::cuda {

// Throws what a call of the runtime refused: MemoryError for want of memory, else DeviceError with the call
// and its code. Some faults (an address that is none, a kernel that never ends) leave the device useless for
// this process; the error says so, and so does that of each later call.
void check(cudaError_t status, const char* call);

// For destructors and the end of the process: the call may fail.
inline void ignore(cudaError_t) {}

// Makes the device the calling thread's. DeviceError in a child of fork(), where CUDA does not work.
void use_device(int index);

// How many GPUs can be used; when there are none, why, and what to do about it.
struct Installation {
    int devices = 0;
    std::string why_none;
};
Installation find_installation();

}  // namespace mge::cuda
