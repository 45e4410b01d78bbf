// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of convolutions that quantised ones have too.

#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {

// Images and filter of a Convolution or a ConvBiasForward, nothing added, as plain images.
Tensor convolved(const Site& site);
// Summand i of a ConvBiasForward, taken out of the blocks of its result.
Tensor plain_images(const Site& site, size_t i);
// The result, back in blocks.
Tensor in_blocks(const Site& site, const Tensor& y);
// By MegEngine's number.
Tensor activated(const Tensor& y, uint32_t nonlinearity);

}  // namespace mge::megengine
