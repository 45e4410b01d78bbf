// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kernels know of an axis that indices name places of. An index outside is told to the queue, which
// throws what the CPU's kernel throws at once (device/cuda/index_fault.h); the kernel goes on as if the index
// were not there: it reads zeros and writes nothing.

#include "libmge/device/cuda/index_fault.h"

namespace mge::cuda {

struct IndexCheck {
    IndexFault* fault;
    const char* op;
    int axis;
    int64_t lowest, extent;  // lowest: -extent where indices may count from the end, else 0
};

}  // namespace mge::cuda
