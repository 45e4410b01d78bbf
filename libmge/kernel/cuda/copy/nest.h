// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Loops over places of a tensor, outermost first; a loop of stride 0 stays where it is. No loops: one place.
struct Nest {
    int loops;
    bool is_dense;  // one loop over elements that lie one behind the other
    int64_t extent[max_axes], stride[max_axes];
};

}  // namespace mge::cuda
