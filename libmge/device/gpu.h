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

}  // namespace mge
