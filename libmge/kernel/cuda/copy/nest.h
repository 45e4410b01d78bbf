// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Loops over elements of a tensor, outermost first; a loop with stride 0 does not advance. No loops: one
// element.
struct Nest {
    int loops;
    bool is_dense;  // one loop over contiguous elements
    int64_t extent[max_axes], stride[max_axes];
};

}  // namespace mge::cuda
