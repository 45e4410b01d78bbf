// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge::ops {

// The shape of images: tensors (N, C, H, W).
constexpr int image_rank = 4, channel_axis = 1;

}  // namespace mge::ops
