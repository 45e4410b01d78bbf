// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Of a grid: enough for any GPU, and far below what a grid may have. The emulated one has a few, so that
// tests see blocks go on to further pieces.
#ifdef MGE_EMULATES_CUDA
inline constexpr int64_t most_blocks = 5;
#else
inline constexpr int64_t most_blocks = 1 << 20;
#endif

// For so many pieces of work, which blocks go over at a distance of the whole grid: a piece is blockIdx.x,
// the next one gridDim.x further. Any number of pieces fits into int64 and none into a grid's 31 bits.
inline unsigned bounded_blocks(int64_t pieces) {
    return unsigned(pieces < 1 ? 1 : pieces < most_blocks ? pieces : most_blocks);
}

}  // namespace mge::cuda
