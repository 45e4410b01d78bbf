// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gradients of the backward operators of the normalisations, in operators: second derivatives need them.

#include "libmge/op/op.h"

namespace mge::ops {

// Common part of batch, layer and group norm: a view of x to which every other tensor can be broadcast. With
// x̂ = (x − mean)·inv_std and g = dy·weight the backward operator computes:
//
//     dx = inv_std·(g − E[g] − x̂·E[g·x̂]) + dmean/n − x̂·inv_std²·dinv_std/n
//     dweight = Σ dy·x̂,  dbias = Σ dy
//
// E is the mean over `statistics_axes` of n elements, and Σ the sum over `factor_axes`. If the statistics are
// constants, dx is inv_std·g.
struct NormBackward {
    Tensor x, dy, mean, inv_std;
    Tensor weight, dmean, dinv_std;  // may be absent
    IntList statistics_axes, factor_axes;
    bool constant_statistics = false;
};
struct NormOutputGrads {
    Tensor dx, dweight, dbias;  // may be absent
};
struct NormBackwardGrads {
    Tensor x, dy, mean, inv_std, weight, dmean, dinv_std;  // null: zero
};
NormBackwardGrads gradient_of(const NormBackward& backward, const NormOutputGrads& grads);

// A gradient found in a view, in dtype and shape of the tensor it belongs to; null stays null.
Tensor in_form_of(const Tensor& grad, const Tensor& input);

// The part of the gradient of x from mean and inv_std:  dmean/n − x̂·inv_std²·dinv_std/n
Tensor gradient_through_statistics(const NormBackward& backward);

}  // namespace mge::ops
