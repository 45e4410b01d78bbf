// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPUs of this machine. Their backend is a library beside libmge, libmge_cuda.so, which is loaded when
// somebody first asks for one; a process that names none opens nothing of CUDA.

#include <string>

#include "libmge/base/api.h"

namespace mge {

struct GpuKind {
    int count = 0;
    std::string why_none;  // what is missing when there are none, and what to do
};

// The kind of devices "gpu". Never throws: a backend that cannot be loaded is a reason.
MGE_API const GpuKind& gpus();

// The version of what the backend stands on, as NVIDIA counts it (13010, 91900): "cuda", with which it was
// built, "driver", the newest CUDA that the driver knows, or "cudnn", which is looked for. 0: it is not
// there.
MGE_API int cuda_version(const char* library);

// Who answers that: set by the backend when it is loaded.
using CudaVersion = int (*)(const char* library);
MGE_API void set_cuda_version(CudaVersion source);

}  // namespace mge
