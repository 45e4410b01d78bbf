// SPDX-License-Identifier: Apache-2.0
#pragma once
// From sums of products to steps of a byte (see ops/quantize/quantisation.h for what a step is). The bits are
// those of the scalar functions there.

#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// What all channels have in common.
struct StepMaking {
    Activation activation;
    bool is_even;  // halves go to the even step
    float y_scale, y_zero, lower, upper;
    bool is_signed, is_residual_signed;
    float residual_scale, residual_zero;
};

// Whether the activation has a vector form here.
inline bool has_step_rows(Activation activation) {
    return activation == Activation::none || activation == Activation::relu ||
           activation == Activation::relu6 || activation == Activation::hswish;
}

// Sums of up to 64 neighbouring pixels in up to 64 channels, side by side for each pixel. Arrays over
// channels have room for whole vectors.
struct StepBlock {
    const int32_t* sums;  // of pixel i and channel c: sums[i * stride + c]
    int64_t stride, pixels, channels;
    const int32_t* start;  // per channel, added to the sums
    const float* scale;    // per channel
    // y and residual (null: none) hold channel after channel, `plane` apart.
    const uint8_t* residual;
    uint8_t* y;
    int64_t plane;
};
inline constexpr int64_t longest_block = 64;

// Sums of pixels whose channels lie side by side in y and residual, too: those of a pixel `y_stride` behind
// those of the pixel before.
struct StepRows {
    const int32_t* sums;
    int64_t stride, pixels, channels;
    const int32_t* start;
    const float* scale;
    const uint8_t* residual;
    uint8_t* y;
    int64_t y_stride;
};

struct StepKernels {
    void (*planes)(const StepMaking&, const StepBlock&);
    void (*rows)(const StepMaking&, const StepRows&);
};
const StepKernels& step_kernels();

}  // namespace mge::cpu
