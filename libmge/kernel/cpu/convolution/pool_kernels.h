// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectorised pooling of f32 images, and maxima of bytes and halves. A plane is (h, w, inner): inner is 1 in
// nchw, the channels in nhwc, the block in nChw16c.

#include <cstdint>

namespace mge::cpu {

struct PoolPlane {
    int64_t h = 0, w = 0, inner = 1;
    int64_t out_w = 0;
    int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0;
    bool count_include_pad = false;
    int64_t out_h = 0;  // only for backward kernels, which process whole planes
};

struct PoolKernels {
    // Write row `oy` of the result, (out_w, inner).
    void (*max_row)(const PoolPlane& plane, const float* x, float* y, int64_t oy);
    void (*average_row)(const PoolPlane& plane, const float* x, float* y, int64_t oy);
    // The same of bytes.
    void (*max_row_u8)(const PoolPlane& plane, const uint8_t* x, uint8_t* y, int64_t oy);
    void (*max_row_i8)(const PoolPlane& plane, const int8_t* x, int8_t* y, int64_t oy);
    // The same of f16 or bf16, whose bits of infinity are given. `columns` has memory for a row of x.
    void (*max_row_half)(const PoolPlane& plane, const uint16_t* x, uint16_t* y, int64_t oy, int16_t infinity,
                         int16_t* columns);
    // Turns the lowest finite number, from which other libraries start a maximum, into -infinity.
    void (*lowest_to_infinity)(float* y, int64_t n);
};

// For the best instruction set allowed by MGE_ISA.
const PoolKernels& pool_kernels();

// Gradients of whole planes.
struct PoolBackward {
    // Every element that equals the maximum of its window gets the window's dy.
    void (*max)(const PoolPlane& plane, const float* x, const float* y, const float* dy, float* dx);
    void (*average)(const PoolPlane& plane, const float* dy, float* dx);
};
const PoolBackward& pool_backward();

}  // namespace mge::cpu
