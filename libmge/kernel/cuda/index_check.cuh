// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_check.h"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// The position for the index, or -1 if it is out of range: then nothing may be read or written there.
MGE_DEVICE int64_t checked_place(int index, const IndexCheck& check) {
    if (index >= check.lowest && index < check.extent) return index < 0 ? index + check.extent : index;
    auto& fault = *check.fault;
    if (atomicCAS(&fault.state, int(IndexFault::none), int(IndexFault::written)) == IndexFault::none) {
        fault.axis = check.axis;
        fault.index = index;
        fault.extent = check.extent;
        fault.op = check.op;
        __threadfence_system();
        atomicExch(&fault.state, int(IndexFault::complete));
    }
    return -1;
}

}  // namespace mge::cuda
