// SPDX-License-Identifier: Apache-2.0
#pragma once
// From sums of products to byte steps (see ops/quantize/quantisation.h for the definition of a step).
// Bit-identical to the scalar functions there.

#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// Steps of another tensor, to which the real numbers are rounded first (half to even): all of a byte.
struct InnerSteps {
    float scale, zero;
    bool is_signed;
    float lower() const { return is_signed ? -128 : 0; }
    float upper() const { return is_signed ? 127 : 255; }
};

// Parameters common to all channels.
struct StepMaking {
    Activation activation;
    bool is_even;  // halves go to the even step
    float y_scale, y_zero, lower, upper;
    bool is_signed, is_residual_signed;
    float residual_scale, residual_zero;
    bool has_inner = false;
    InnerSteps inner{};
    bool y_may_be_short = false;  // rounds_shortly(y_scale) is known to be true
};

// Whether the activation has a vector form here.
inline bool has_step_rows(Activation activation) {
    return activation == Activation::none || activation == Activation::relu ||
           activation == Activation::relu6 || activation == Activation::hswish;
}

// Sums of up to 64 neighbouring pixels in up to 64 channels, contiguous for each pixel. Arrays over channels
// are padded to whole vectors.
struct StepBlock {
    const int32_t* sums;  // pixel i and channel c: sums[i * stride + c]
    int64_t stride, pixels, channels;
    const int32_t* start;  // per channel, added to the sums
    const float* scale;    // per channel
    const float* shift;    // per channel, added to the real numbers; null: absent
    // y and residual (null: absent) contain channel after channel, `plane` apart.
    const uint8_t* residual;
    uint8_t* y;
    int64_t plane;
};
inline constexpr int64_t longest_block = 64;

// Sums of pixels whose channels are contiguous in y and residual, too: pixels are `y_stride` apart.
struct StepRows {
    const int32_t* sums;
    int64_t stride, pixels, channels;
    const int32_t* start;
    const float *scale, *shift;
    const uint8_t* residual;
    uint8_t* y;
    int64_t y_stride;
};

struct StepKernels {
    void (*planes)(const StepMaking&, const StepBlock&);
    void (*rows)(const StepMaking&, const StepRows&);
};
const StepKernels& step_kernels();

// True if two products give the same nearest integers as x / scale, half to even: x times the inverse of the
// scale, plus x times the rounding error of that inverse. Quotients have to be less than 256 in magnitude.
bool rounds_shortly(float scale);

}  // namespace mge::cpu
