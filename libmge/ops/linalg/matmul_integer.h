// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Products of integers of up to 16 bits in tiles, exact in int32.
Algorithm integer_matmul();

}  // namespace mge::ops
