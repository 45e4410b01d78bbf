// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Limit of the blocks of a grid: enough for any GPU, and far below the limit of a grid. The emulated GPU has
// a few, so that tests cover blocks with several pieces.
#ifdef MGE_EMULATES_CUDA
inline constexpr int64_t most_blocks = 5;
#else
inline constexpr int64_t most_blocks = 1 << 20;
#endif

// Blocks for so many pieces of work in a grid-stride loop: a block starts at piece blockIdx.x, and the next
// is gridDim.x further. Any number of pieces fits in int64, but not in a grid's 31 bits.
inline unsigned bounded_blocks(int64_t pieces) {
    return unsigned(pieces < 1 ? 1 : pieces < most_blocks ? pieces : most_blocks);
}

}  // namespace mge::cuda
