// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised convolutions of channels-last images (layout nhwc).

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {

Algorithm channels_last_quantized_conv2d();
Algorithm channels_last_direct_conv2d();
Algorithm channels_last_depthwise_conv2d();
Algorithm channels_last_windows_conv2d();
Algorithm channels_last_winograd_conv2d();

// A part of some work, and how it is divided.
struct Part {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};
inline Part share_of(int64_t n, int64_t share, int64_t shares) {
    return {n * share / shares, n * (share + 1) / shares};
}
// The share of a thread: a part of the pixels, or lines, and a part of the blocks of channels.
struct ImageShare {
    Part pixels, blocks;
};
inline ImageShare share_of(int64_t pixels, int64_t blocks, bool by_blocks, int64_t share, int64_t shares) {
    const Part all{0, by_blocks ? pixels : blocks};
    return by_blocks ? ImageShare{all, share_of(blocks, share, shares)}
                     : ImageShare{share_of(pixels, share, shares), all};
}
inline size_t aligned(int64_t bytes) { return size_t(round_up(bytes, 64)); }

// Threads divide the channels of y if there are more than this many for each pixel, otherwise mostly the
// pixels. A thread that divides all layers alike reads the bytes that it has just written.
inline constexpr int64_t channels_per_pixel = 6;

ConvGeometry quantised_geometry(const Problem& problem);
// 1×1 images and windows: a matrix product, which is stored alike in all layouts.
bool is_product(const ConvGeometry& g);
// Requirement of all their kernels: such images, and an i8 weight without a zero point that can be packed.
Support channels_last_images(const Problem& problem);

}  // namespace mge::ops
