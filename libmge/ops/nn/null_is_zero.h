// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic in which null is zero, for gradient rules with missing gradients.

#include "libmge/op/op.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge::ops {

inline Tensor plus(const Tensor& a, const Tensor& b) { return !a ? b : !b ? a : add(a, b); }
inline Tensor times(const Tensor& a, const Tensor& b) { return a && b ? mul(a, b) : Tensor(); }
inline Tensor scaled(const Tensor& x, double scale) { return x ? mul(x, constant_like(x, scale)) : x; }
inline Tensor widened(const Tensor& x) {
    return x && x.dtype() != DType::f32 ? convert(x, {.dtype = DType::f32}) : x;
}

}  // namespace mge::ops
