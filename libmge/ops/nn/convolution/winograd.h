// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// 3×3 windows with stride 1 and constant weights by Winograd's F(4×4, 3×3), on images in blocks of channels
// (kernel/cpu/convolution/winograd.h).
Algorithm winograd_conv2d();

// The same with changing weights, and the gradients. Each is listed twice, preferred and after oneDNN's: the
// instruction set determines which of the two applies.
template <bool Preferred>
Algorithm winograd_conv2d_changing();
template <bool Preferred>
Algorithm winograd_conv2d_backward_data();
template <bool Preferred>
Algorithm winograd_conv2d_backward_weight();

}  // namespace mge::ops
