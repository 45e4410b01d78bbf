// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Convolutions of an image of one pixel, as squeeze and excitation has them: a row times a matrix, whatever
// the layout.
Algorithm one_pixel_conv2d();

}  // namespace mge::ops
