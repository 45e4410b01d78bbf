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

// Each for f16, bf16 and float.
template <class T>
void roi_pool(Stream stream, const RoiPooling& pooling, const T* x, const float* regions, T* y);
template <class T>
void roi_pool_backward(Stream stream, const RoiPooling& pooling, const T* x, const float* regions,
                       const T* dy, const FixedSums& sums, T* dx);

}  // namespace mge::cuda
