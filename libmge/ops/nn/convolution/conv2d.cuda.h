// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/products.h"
#include "libmge/kernel/cuda/types.h"
#include "libmge/ops/nn/convolution/conv_extents.cuda.h"

namespace mge::cuda {

struct ConvArguments {
    const void *x, *weight, *bias, *residual, *dy;
    void* result;
    ConvExtents conv;
    ProductExtents extents;
    float* parts;  // parts of split sums
    Activation activation;
};

// `type`: of floats only.
void run_conv2d(Stream stream, int type, const ConvArguments& arguments);
void run_conv2d_backward_data(Stream stream, int type, const ConvArguments& arguments);
void run_conv2d_backward_weight(Stream stream, int type, const ConvArguments& arguments);

}  // namespace mge::cuda
