// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::cpu {
struct SmallConvolution;
}

namespace mge::ops {

// Our own vector loops on plain images, for the layers of small networks: a family of two, with pixels or
// (constant weights only) channels in the lanes of vectors.
Algorithm small_conv2d();

// The gradient for the weight of such a layer, on plain images and on channels last.
Algorithm small_conv2d_backward_weight();

// Whether they are faster on plain images than a library is in any layout.
bool is_small_convolution(const ConvGeometry& geometry);
cpu::SmallConvolution small_image(const ConvGeometry& geometry);

}  // namespace mge::ops
