// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// oneDNN's matmul implementations with b as it is or, when b is constant, packed once.
Algorithm onednn_matmul();

}  // namespace mge::ops
