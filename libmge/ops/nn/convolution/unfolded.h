// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Any convolution of plain f32 images, as a product of the weights and the unfolded pixels: for builds
// without oneDNN.
Algorithm unfolded_conv2d();

}  // namespace mge::ops
