// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// 0 … n - 1 in the order that Fisher's and Yates's swaps give, one after the other; `winners` holds n
// numbers. `type`: that of y, of numbers only.
void shuffle(Stream stream, int type, const int32_t* state, unsigned random_stream, int64_t n,
             int32_t* winners, void* y);

}  // namespace mge::cuda
