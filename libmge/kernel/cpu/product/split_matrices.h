// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of whole matrices of f32 by matrix instructions that multiply bf16 (split_product.h). Both sides
// are split into parts in every run, piece by piece, so they take no more memory than floats elsewhere.

#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/product/split_product.h"

namespace mge::cpu {

// y[m][n] = activation(sum over k of a[m][k] * b[k][n] + bias[n] + residual[m][n]).
struct SplitMatrices {
    int64_t m, n, k;
    Activation activation;
    int threads;

    size_t workspace() const;
};
// The lines of a are its rows, those of b its columns.
struct SplitOperands {
    SplitSource a, b;
    SplitResult result;
};
void multiply_split(const SplitMatrices& product, const SplitOperands& operands, void* workspace);

}  // namespace mge::cpu
