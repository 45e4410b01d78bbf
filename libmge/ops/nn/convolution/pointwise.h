// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Windows of one pixel with stride 1 and constant weights, on one image of few pixels in blocks of channels
// (kernel/cpu/convolution/pointwise.h).
Algorithm pointwise_conv2d();

}  // namespace mge::ops
