// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectorised operations on f32 images with channels innermost (channels last, blocks of channels): `rows`
// contiguous pixels of `channels` elements each, with an array element per channel.

#include <cstdint>

namespace mge::cpu {

// dx = (dy − center)·factor + (x − mean)·slope, channel by channel.
struct ChannelFactors {
    const float *mean, *center, *factor, *slope;
};

struct ChannelKernels {
    // dy_sums += Σ dy and product_sums += Σ dy·(x − mean) over the rows.
    void (*gradient_sums)(const float* x, const float* dy, int64_t rows, int64_t channels, const float* mean,
                          float* dy_sums, float* product_sums);
    void (*weighted_sum)(const float* x, const float* dy, float* dx, int64_t rows, int64_t channels,
                         const ChannelFactors& factors);
};

// For the best instruction set allowed by MGE_ISA.
const ChannelKernels& channel_kernels();

}  // namespace mge::cpu
