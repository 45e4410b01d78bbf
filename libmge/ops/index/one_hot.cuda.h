// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_check.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// y is count × check.extent.
void mark_classes(Stream stream, const int32_t* index, int64_t count, const IndexCheck& check, int32_t* y);

}  // namespace mge::cuda
