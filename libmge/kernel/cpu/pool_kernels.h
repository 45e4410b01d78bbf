// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectorised pooling of f32 images. A plane is (h, w, inner): inner is 1 in nchw, the channels in nhwc, the
// block in nChw16c.

#include <cstdint>

namespace mge::cpu {

struct PoolPlane {
    int64_t h = 0, w = 0, inner = 1;
    int64_t out_w = 0;
    int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0;
    bool count_include_pad = false;
};

struct PoolKernels {
    // Write row `oy` of the result, (out_w, inner).
    void (*max_row)(const PoolPlane& plane, const float* x, float* y, int64_t oy);
    void (*average_row)(const PoolPlane& plane, const float* x, float* y, int64_t oy);
    // Turns the lowest finite number, from which other libraries start a maximum, into -infinity.
    void (*lowest_to_infinity)(float* y, int64_t n);
};

// For the best instruction set that MGE_ISA allows.
const PoolKernels& pool_kernels();

}  // namespace mge::cpu
