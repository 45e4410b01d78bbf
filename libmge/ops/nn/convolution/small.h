// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Our own vector loops on plain images, for the layers of small networks.
Algorithm small_conv2d();

}  // namespace mge::ops
