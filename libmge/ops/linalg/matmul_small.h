// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Our own vector loops, for products so small that a call of oneDNN costs more than the work.
Algorithm small_matmul();

}  // namespace mge::ops
