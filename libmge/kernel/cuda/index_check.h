// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds of an indexed axis in kernels. An index out of range is reported to the queue, which throws the same
// error as the CPU's kernel (device/cuda/index_fault.h); the kernel continues as if the index were absent: it
// reads zeros and writes nothing.

#include "libmge/device/cuda/index_fault.h"

namespace mge::cuda {

struct IndexCheck {
    IndexFault* fault;
    const char* op;
    int axis;
    int64_t lowest, extent;  // lowest: -extent if indices may count from the end, otherwise 0
};

}  // namespace mge::cuda
