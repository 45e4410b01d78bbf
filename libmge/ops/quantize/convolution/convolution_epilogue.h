// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of a quantised convolution's sums before they are stored: the same for all its kernels.

#include "libmge/kernel/algorithm.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {

// For the problem.
struct ConvEpilogue {
    bool is_exact;  // the sums are the result
    bool is_per_channel;
    Activation activation;
    StepRange range;
    StepRounding rounding;
    DType dtype, residual_dtype, inner_dtype;  // none: there is no residual, no inner scale
    bool y_may_be_short = false;               // cpu::rounds_shortly() is known of the scale of y

    explicit ConvEpilogue(const Problem& problem);
};

// For one run.
struct ConvScales {
    const float* scale = nullptr;
    const int32_t* bias = nullptr;
    int32_t x_zero = 0, weight_zero = 0;
    const float* shift = nullptr;
    float y_scale = 1, y_zero = 0, residual_scale = 0, residual_zero = 0, inner_scale = 1, inner_zero = 0;

    explicit ConvScales(const Launch& launch);
};

// The step of y for a sum (with bias) in a channel, at a place of y and residual.
int32_t finished_step(const ConvEpilogue& epilogue, const ConvScales& scales, const Launch& launch,
                      int32_t sum, int64_t channel, int64_t place);

}  // namespace mge::ops
