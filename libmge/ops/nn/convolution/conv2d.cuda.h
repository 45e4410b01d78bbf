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

// For f16, bf16 and float.
template <class T>
void run_conv2d(Stream stream, const ConvArguments& arguments);
template <class T>
void run_conv2d_backward_data(Stream stream, const ConvArguments& arguments);
template <class T>
void run_conv2d_backward_weight(Stream stream, const ConvArguments& arguments);

}  // namespace mge::cuda
