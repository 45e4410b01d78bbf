// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/products.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// matmul_geometry.h for a GPU; strides count elements.
struct MatmulArguments {
    const void *a, *b, *bias, *residual;
    void* y;
    ProductExtents extents;
    float* parts;  // parts of split sums
    int64_t a_stride_m, a_stride_k, b_stride_k, b_stride_n;
    int axes;  // number of batch axes; a broadcast operand has stride 0 along them
    int64_t batch[max_axes], a_batch_stride[max_axes], b_batch_stride[max_axes];
    Activation activation;
    bool is_bias_wide, is_residual_wide;  // in the dtype of y if that differs from the operands'
};

// `type`: that of a and b, of numbers only.
void run_matmul(Stream stream, int type, const MatmulArguments& arguments);

}  // namespace mge::cuda
