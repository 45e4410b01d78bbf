// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/nn/norm_sums.cuda.h"

namespace mge::cuda {

// x seen as (samples, channels, pixels), each channel normalised.
struct BatchNorm {
    ReduceGeometry geometry;  // that of x, with the channels kept
    int64_t samples, channels, pixels;
    bool takes_batch;  // otherwise the running statistics are used, and stay
    double momentum, epsilon;
};

template <class T>
struct BatchNormTensors {
    const T* x;
    const float *scale, *bias, *running_mean, *running_var;
    T* y;
    // The new ones may be in place of the running ones.
    float *new_mean, *new_var, *saved_mean, *saved_inv_std;
};
template <class T>
struct BatchNormGradients {
    const T *x, *dy;
    const float *scale, *mean, *inv_std;
    const float *dscale, *dbias;  // as norm_sums gives them; null: the statistics were not those of x
    T* dx;                        // may be in place of dy
};

// T is f16, bf16 or float.
template <class T>
void normalize_batch(Stream stream, const BatchNorm& norm, const BatchNormTensors<T>& tensors,
                     void* workspace);
// dx alone.
template <class T>
void normalize_batch_backward(Stream stream, const BatchNorm& norm, const BatchNormGradients<T>& tensors);

}  // namespace mge::cuda
