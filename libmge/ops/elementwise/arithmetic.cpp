// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"

#include "libmge/op/define.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::ops {

constinit const OpInfo Abs::info = define<Abs>();
constinit const OpInfo Add::info = define<Add>();
constinit const OpInfo Ceil::info = define<Ceil>();
constinit const OpInfo Div::info = define<Div>();
constinit const OpInfo Floor::info = define<Floor>();
constinit const OpInfo FloorDiv::info = define<FloorDiv>();
constinit const OpInfo Maximum::info = define<Maximum>();
constinit const OpInfo Minimum::info = define<Minimum>();
constinit const OpInfo Mod::info = define<Mod>();
constinit const OpInfo Mul::info = define<Mul>();
constinit const OpInfo Neg::info = define<Neg>();
constinit const OpInfo Reciprocal::info = define<Reciprocal>();
constinit const OpInfo Round::info = define<Round>();
constinit const OpInfo RoundToEven::info = define<RoundToEven>();
constinit const OpInfo Rsqrt::info = define<Rsqrt>();
constinit const OpInfo Sign::info = define<Sign>();
constinit const OpInfo Sqrt::info = define<Sqrt>();
constinit const OpInfo Square::info = define<Square>();
constinit const OpInfo Sub::info = define<Sub>();

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
