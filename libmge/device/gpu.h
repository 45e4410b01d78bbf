// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs of this machine. Their backend is a separate library, libmge_cuda.so, which is loaded when the
// first GPU is requested. A process that requests none never opens CUDA.

#include <string>

#include "libmge/base/api.h"

namespace mge {

struct GpuKind {
    int count = 0;
    std::string why_unavailable;  // why `count` is 0 and how to change that
};

// The device kind "gpu". Does not throw: if the backend cannot be loaded, `why_unavailable` says why.
MGE_API const GpuKind& gpus();

// Returns a version as NVIDIA counts it (13010, 91900), or 0 if the library is missing. `library` is "cuda"
// (the version of the build), "driver" (the newest CUDA that the driver supports) or "cudnn" (searched for on
// the first call).
MGE_API int cuda_version(const char* library);

// The implementation of cuda_version(), which the backend sets when it is loaded.
using CudaVersion = int (*)(const char* library);
MGE_API void set_cuda_version(CudaVersion source);

}  // namespace mge
