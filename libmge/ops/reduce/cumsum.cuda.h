// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// x seen as (outer, length, inner), summed along length. `type`: a number among AllTypes.
void cumsum(Stream stream, int type, const void* x, void* y, int64_t outer, int64_t length, int64_t inner);

}  // namespace mge::cuda
