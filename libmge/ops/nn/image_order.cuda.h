// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "libmge/kernel/algorithm.h"
#include "libmge/op/facts.h"

namespace mge::ops {

// The order of a problem's images on a GPU.
enum class ImageOrder { plain, channels_last };

// The order of the image operands if they agree and all others are plain; otherwise nullopt. `examples` (bit
// i: input i) are only read for their shapes and may have any layout.
std::optional<ImageOrder> image_order(const Problem& problem, const ImageLayouts& images,
                                      uint32_t examples = 0);

}  // namespace mge::ops
