// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/trigonometric.h"

#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::ops {

Tensor Acos::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return neg(div(dy, sqrt(sub(constant_like(x, 1), square(x)))));
}
Tensor Acosh::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, sqrt(sub(square(x), constant_like(x, 1))));
}
Tensor Asin::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, sqrt(sub(constant_like(x, 1), square(x))));
}
Tensor Asinh::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, sqrt(add(square(x), constant_like(x, 1))));
}
Tensor Atan::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, add(square(x), constant_like(x, 1)));
}
Tensor Atan2::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return mul(dy, div(b, add(square(a), square(b))));
}
Tensor Atan2::derivative_b(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return neg(mul(dy, div(a, add(square(a), square(b)))));
}
Tensor Atanh::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, sub(constant_like(x, 1), square(x)));
}
Tensor Cos::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return neg(mul(dy, sin(x))); }
Tensor Cosh::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, sinh(x)); }
Tensor Sin::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, cos(x)); }
Tensor Sinh::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, cosh(x)); }
Tensor Tan::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return mul(dy, add(square(y), constant_like(y, 1)));
}
Tensor Tanh::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return mul(dy, sub(constant_like(y, 1), square(y)));
}

}  // namespace mge::ops
