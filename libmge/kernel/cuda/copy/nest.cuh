// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/copy/nest.h"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// The offset of the n-th element of the loops.
MGE_DEVICE int64_t place_in(const Nest& nest, int64_t n) {
    if (nest.loops == 0) return 0;
    int64_t at = 0;
    for (int loop = nest.loops - 1; loop > 0; --loop)
        at += split_index(n, nest.extent[loop]) * nest.stride[loop];
    return at + n * nest.stride[0];
}

}  // namespace mge::cuda
