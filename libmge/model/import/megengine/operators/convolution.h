// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of convolutions that quantised ones have too.

#include "libmge/model/import/megengine/operators.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::megengine {

// The parts of a Convolution or a ConvBiasForward: plain images and filter.
struct ConvParts {
    Tensor images, weight;
    ops::Conv2d::Params params;
};
ConvParts convolution_parts(const Site& site);
// Summand i of a ConvBiasForward, taken out of the blocks of its result.
Tensor plain_images(const Site& site, size_t i);
// The result, back in blocks.
Tensor in_blocks(const Site& site, const Tensor& y);
// By MegEngine's number.
Activation activation_of(uint32_t nonlinearity);

}  // namespace mge::megengine
