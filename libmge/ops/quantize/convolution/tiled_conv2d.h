// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Kernels of quantized_conv2d: any, and where every channel has a window of its own.
Algorithm tiled_quantized_conv2d();
Algorithm depthwise_quantized_conv2d();

}  // namespace mge::ops
