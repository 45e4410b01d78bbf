// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Transposed convolutions that enlarge an image by whole windows, on images whose channels lie side by side.
Algorithm apart_windows_conv2d_backward_data();

}  // namespace mge::ops
