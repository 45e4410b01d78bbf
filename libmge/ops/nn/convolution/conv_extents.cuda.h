// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/divisor.h"

namespace mge::cuda {

// From one channel of an image to the next, and from one pixel to the next.
struct ImageSteps {
    int64_t channel, pixel;
};

// ConvGeometry for a GPU: extents of rows [0] and columns [1], and what indices are divided by.
struct ConvExtents {
    int64_t images, groups, oc, ic;  // channels within a group
    int in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
    ImageSteps in_steps, out_steps;
    Divisor in_size, in_columns, out_size, out_columns, kernel_size, kernel_columns, by_stride[2];
};

}  // namespace mge::cuda
