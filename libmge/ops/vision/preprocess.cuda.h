// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Preprocessing {
    int64_t images, channels, planes, pixels;  // planes: of the result
    int64_t pixel_stride, channel_stride;      // those of x
};

// `type`: that of x, of numbers only.
void preprocess(Stream stream, int type, const Preprocessing& p, const void* x, const float* mean,
                const float* scale, float* y);

}  // namespace mge::cuda
