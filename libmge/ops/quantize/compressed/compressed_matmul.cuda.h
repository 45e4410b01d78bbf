// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/products.h"
#include "libmge/ops/quantize/compressed/expand_weight.cuda.h"

namespace mge::cuda {

struct CompressedMatmulArguments {
    ExpandArguments weight;  // nothing is expanded: without w
    ProductExtents extents;  // rows of x, rows of the weight, columns of both
    const float *x, *bias, *residual;
    float* y;
    Activation activation;
};

// Rows of x that are multiplied with a row of weights while it is read once.
inline constexpr int most_rows_at_once = 8;

// A warp for each row of the weight; at most so many rows of x.
void multiply_compressed_rows(Stream stream, const CompressedMatmulArguments& arguments);
// In tiles; weights become floats on their way to shared memory.
void multiply_compressed_tiles(Stream stream, const CompressedMatmulArguments& arguments);

}  // namespace mge::cuda
