// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Transposed convolutions with disjoint windows, on images in blocks of channels or channels last.
Algorithm apart_windows_conv2d_backward_data();

}  // namespace mge::ops
