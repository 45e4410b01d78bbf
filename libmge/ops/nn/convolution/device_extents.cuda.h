// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/conv_extents.cuda.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/nn/image_order.cuda.h"

namespace mge::ops {

// Device text counts in 32 bits within an image and within a window.
Support fits_device_text(const ConvGeometry& geometry);
cuda::ConvExtents device_extents(const ConvGeometry& geometry, ImageOrder order = ImageOrder::plain);

}  // namespace mge::ops
