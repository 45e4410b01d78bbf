// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Our own product on a GPU, for all dtypes and shapes.
Algorithm tiled_matmul();

}  // namespace mge::ops
