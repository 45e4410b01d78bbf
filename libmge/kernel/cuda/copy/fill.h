// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Fills memory with an element of 1, 2, 4 or 8 bytes, the first byte lowest. `target` is a multiple of its
// size.
void fill_elements(Stream stream, void* target, int64_t count, int size, uint64_t element);

}  // namespace mge::cuda
