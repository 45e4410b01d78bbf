// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// A window of each channel's own, with constant weights, on images in blocks of channels
// (kernel/cpu/convolution/depthwise.h).
Algorithm depthwise_conv2d();
// On a GPU: any weights, images that are plain or have their channels last.
Algorithm depthwise_conv2d_on_gpu();

}  // namespace mge::ops
