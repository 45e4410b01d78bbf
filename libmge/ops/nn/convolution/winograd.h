// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// 3×3 windows with stride 1 and constant weights by Winograd's F(4×4, 3×3), on images whose channels lie side
// by side (kernel/cpu/convolution/winograd.h).
Algorithm winograd_conv2d();

// The same with weights that change, and the gradients. Each stands in its list twice, preferred and behind
// oneDNN's: which of the two it is, the instruction set says.
template <bool Preferred>
Algorithm winograd_conv2d_changing();
template <bool Preferred>
Algorithm winograd_conv2d_backward_data();
template <bool Preferred>
Algorithm winograd_conv2d_backward_weight();

}  // namespace mge::ops
