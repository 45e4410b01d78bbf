// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "libmge/kernel/algorithm.h"
#include "libmge/op/facts.h"

namespace mge::ops {

// How the images of a problem lie on a GPU.
enum class ImageOrder { plain, channels_last };

// Of the operands that are images, when they lie alike and all others are plain; nullopt when they do not.
// `examples` (bit i: input i) are read for their shapes alone and may lie as they like.
std::optional<ImageOrder> image_order(const Problem& problem, const ImageLayouts& images,
                                      uint32_t examples = 0);

}  // namespace mge::ops
