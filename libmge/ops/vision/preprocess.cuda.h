// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Preprocessing {
    int64_t images, channels, planes, pixels;  // planes: of the result
    int64_t pixel_stride, channel_stride;      // those of x
};

// For NumberTypes.
template <class T>
void preprocess(Stream stream, const Preprocessing& p, const T* x, const float* mean, const float* scale,
                float* y);

}  // namespace mge::cuda
