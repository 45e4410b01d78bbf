// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalisation of rows: of layers and of groups of channels.

#include "libmge/ops/nn/norm_sums.cuda.h"

namespace mge::cuda {

struct RowNorm {
    int64_t rows, n;
    // Element i of a row has the factors with number row % groups * channels + i / pixels.
    int64_t groups, channels, pixels;
    float epsilon;
};

// Absent operands are null.
template <class T>
struct RowNormTensors {
    const T *x, *weight, *bias;
    T* y;
    float *mean, *inv_std;
};
template <class T>
struct RowNormGradients {
    const T *x, *dy, *weight;
    const float *mean, *inv_std, *dmean, *dinv_std;
    T* dx;
};

// T is f16, bf16 or float.
template <class T>
void normalize_rows(Stream stream, const RowNorm& norm, const RowNormTensors<T>& tensors);
template <class T>
void normalize_rows_backward(Stream stream, const RowNorm& norm, const RowNormGradients<T>& tensors);

}  // namespace mge::cuda
