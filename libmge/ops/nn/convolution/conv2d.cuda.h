// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/activation.h"
#include "libmge/kernel/cuda/divisor.h"
#include "libmge/kernel/cuda/products.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// ConvGeometry for a GPU: extents of rows [0] and columns [1], and what indices are divided by.
struct ConvExtents {
    int64_t images, groups, oc, ic;  // channels within a group
    int in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
    Divisor in_size, in_columns, out_size, out_columns, kernel_size, kernel_columns, by_stride[2];
};

struct ConvArguments {
    const void *x, *weight, *bias, *residual, *dy;
    void* result;
    ConvExtents conv;
    ProductExtents extents;
    float* parts;  // of split sums
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
