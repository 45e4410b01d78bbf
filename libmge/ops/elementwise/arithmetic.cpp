// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"

#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::ops {

Tensor Abs::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return where(greater(x, constant_like(x, 0)), dy, neg(dy));
}
Tensor Add::derivative_a(const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy; }
Tensor Add::derivative_b(const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy; }
Tensor Div::derivative_a(const Tensor&, const Tensor& b, const Tensor&, const Tensor& dy) {
    return div(dy, b);
}
Tensor Div::derivative_b(const Tensor&, const Tensor& b, const Tensor& y, const Tensor& dy) {
    return neg(div(mul(dy, y), b));
}
// For two equal numbers the first gets the gradient, and with a NaN neither does.
Tensor Maximum::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return where(greater_equal(a, b), dy, constant_like(dy, 0));
}
Tensor Maximum::derivative_b(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return where(less(a, b), dy, constant_like(dy, 0));
}
Tensor Minimum::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return where(less_equal(a, b), dy, constant_like(dy, 0));
}
Tensor Minimum::derivative_b(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return where(greater(a, b), dy, constant_like(dy, 0));
}
Tensor Mod::derivative_a(const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy; }
Tensor Mod::derivative_b(const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return {}; }
Tensor Mul::derivative_a(const Tensor&, const Tensor& b, const Tensor&, const Tensor& dy) {
    return mul(dy, b);
}
Tensor Mul::derivative_b(const Tensor& a, const Tensor&, const Tensor&, const Tensor& dy) {
    return mul(dy, a);
}
Tensor Neg::derivative(const Tensor&, const Tensor&, const Tensor& dy) { return neg(dy); }
Tensor Reciprocal::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return neg(mul(dy, square(y)));
}
Tensor Rsqrt::derivative(const Tensor& x, const Tensor& y, const Tensor& dy) {
    return mul(mul(dy, constant_like(dy, -0.5)), div(y, x));
}
Tensor Sqrt::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return div(mul(dy, constant_like(dy, 0.5)), y);
}
Tensor Square::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return mul(mul(dy, constant_like(dy, 2)), x);
}
Tensor Sub::derivative_a(const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy; }
Tensor Sub::derivative_b(const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return neg(dy); }

}  // namespace mge::ops
