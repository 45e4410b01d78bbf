// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of neighbouring pixels, finished and stored.

#include "libmge/ops/quantize/convolution/convolution_epilogue.h"

namespace mge::ops {

// Limit of a block's channels, and of its pixels if those are contiguous.
inline constexpr int64_t longest_row = 64;

// The sum of pixel i and channel c is sums[i * stride + c] + start[c], where start is padded to whole vectors
// and includes the bias. `first_channel` counts in all of y, `first` is the position of the first sum in y;
// from there channels are `plane` apart and pixels `step`, one of which is 1.
struct SumBlock {
    const int32_t *sums, *start;
    int64_t stride, pixels, channels;
    int64_t first_channel, first, plane, step = 1;
};
void finish_block(const ConvEpilogue& epilogue, const ConvScales& scales, const Launch& launch,
                  const SumBlock& block);

}  // namespace mge::ops
