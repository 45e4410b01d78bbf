// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// conv2d on half precision, computed in f32 tile by tile, so that images are never widened as a whole.
Algorithm tiled_conv2d();

}  // namespace mge::ops
