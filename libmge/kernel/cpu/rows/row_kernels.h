// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectorised operations on single rows of f32, for softmax and normalisations. `x` and `y` may be the same
// row.

#include <cstdint>

namespace mge::cpu {

// Mean and variance (divided by n) of a row.
struct Moments {
    float mean, variance;
};

// Sums for the gradient of a normalised row: of g and of g·x̂, x̂ = (x − mean)·inv_std, where g = dy·weight
// (weight null: g = dy).
struct GradientSums {
    float grad, grad_normalized;
};

struct Weight {
    float center, scale;
};

struct RowKernels {
    // y = softmax(x), or its logarithm. A NaN anywhere makes the whole row NaN.
    void (*softmax)(const float* x, float* y, int64_t n, bool log);
    // The same for `inner` neighbouring columns of n elements each, `inner` apart.
    void (*softmax_columns)(const float* x, float* y, int64_t n, int64_t inner, bool log);
    // Two passes: the mean, then the squares around it.
    Moments (*moments)(const float* x, int64_t n);
    // y = (x − mean)·inv_std·weight + bias; weight and bias may be null.
    void (*normalize)(const float* x, float* y, int64_t n, float mean, float inv_std, const float* weight,
                      const float* bias);
    // y = (x − center)·scale + shift. Folding the centre into the shift would cancel where x is near it.
    void (*scale_around)(const float* x, float* y, int64_t n, float center, float scale, float shift);
    // y = (a − a's center)·a's scale + (b − b's center)·b's scale + shift
    void (*weighted_sum)(const float* a, const float* b, float* y, int64_t n, Weight of_a, Weight of_b,
                         float shift);
    GradientSums (*gradient_sums)(const float* x, const float* dy, int64_t n, float mean, float inv_std,
                                  const float* weight);
    // dx = inv_std·(g − sums.grad/count − x̂·sums.grad_normalized/count), the sums over `count` elements
    void (*normalize_backward)(const float* x, const float* dy, float* dx, int64_t n, float mean,
                               float inv_std, const float* weight, GradientSums sums, int64_t count);
    // dweight += dy·x̂ and dbias += dy, element by element
    void (*accumulate_factors)(const float* x, const float* dy, int64_t n, float mean, float inv_std,
                               float* dweight, float* dbias);
};

// For the best instruction set allowed by MGE_ISA.
const RowKernels& row_kernels();

}  // namespace mge::cpu
