// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// y = table[x]; the table has 256 elements.
void map_bytes(Stream stream, const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t numel);

}  // namespace mge::cuda
