// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// 3×3 windows with stride 1 and constant weights by Winograd's F(4×4, 3×3), on images whose channels lie side
// by side (kernel/cpu/winograd.h).
Algorithm winograd_conv2d();

}  // namespace mge::ops
