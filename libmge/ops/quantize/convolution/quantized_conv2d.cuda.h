// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/products.h"
#include "libmge/kernel/cuda/types.h"
#include "libmge/ops/nn/convolution/conv_extents.cuda.h"

namespace mge::cuda {

// Types of steps are numbers among AllTypes.
struct StepConvArguments {
    const void *x, *weight, *residual;
    const float *scale, *y_scale, *residual_scale, *inner_scale, *shift;
    const int32_t *bias, *x_zero, *weight_zero, *y_zero, *residual_zero, *inner_zero;  // null: 0
    void* y;
    ConvExtents conv;
    ProductExtents extents;
    int64_t lower, upper, inner_lower, inner_upper;
    int y_type, residual_type;
    bool is_exact;  // the sums are the result
    bool is_scale_per_channel;
    bool is_even;  // halves go to the even step
    Activation activation;
};

// The types are uint8_t or int8_t.
void convolve_steps(Stream stream, int x_type, int weight_type, const StepConvArguments& arguments);

// For sums without their bias, which are channels last for any order of y.
void finish_steps(Stream stream, const StepConvArguments& arguments, const int32_t* sums);

}  // namespace mge::cuda
