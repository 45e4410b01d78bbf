// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/reduce/fixed_sums.h"

namespace mge::cuda {

struct RoiPooling {
    int64_t images, channels, height, width;  // those of x
    int64_t regions, rows, columns;           // those of the result
    bool is_max;
    double scale;
};

// `type`: of floats only.
void roi_pool(Stream stream, int type, const RoiPooling& pooling, const void* x, const float* regions,
              void* y);
void roi_pool_backward(Stream stream, int type, const RoiPooling& pooling, const void* x,
                       const float* regions, const void* dy, const FixedSums& sums, void* dx);

}  // namespace mge::cuda
