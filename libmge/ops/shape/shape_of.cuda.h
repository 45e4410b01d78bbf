// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Extents {
    int count;
    int32_t extent[max_axes];
};
void store_extents(Stream stream, int32_t* y, const Extents& extents);

}  // namespace mge::cuda
