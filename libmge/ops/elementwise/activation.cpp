// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/activation.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::ops {

Tensor Gelu::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, gelu_slope(x)); }
Tensor GeluSlope::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    // d/dx [Phi(x) + x phi(x)] = (2 - x^2) phi(x)
    Tensor square_x = square(x);
    Tensor density = mul(exp(mul(square_x, constant_like(x, -0.5))), constant_like(x, 0.3989422804014327));
    return mul(dy, mul(sub(constant_like(x, 2), square_x), density));
}
Tensor Hsigmoid::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    Tensor outside = greater_equal(abs(x), constant_like(x, 3));
    return where(outside, constant_like(dy, 0), mul(dy, constant_like(dy, 1.0 / 6)));
}
Tensor Hswish::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    // 0 below -3, (2x + 3) / 6 up to 3, then 1
    Tensor slope = add(mul(x, constant_like(x, 1.0 / 3)), constant_like(x, 0.5));
    slope = where(less(x, constant_like(x, -3)), constant_like(x, 0), slope);
    return mul(dy, where(greater(x, constant_like(x, 3)), constant_like(x, 1), slope));
}
TensorSpecs LeakyRelu::infer(const Params&, Specs in) { return infer_elementwise(name, in, accepted, false); }
Tensors LeakyRelu::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.output_grad();
    Tensor scaled = mul(dy, constant_like(dy, g.params.slope));
    return g.result({{"x", where(greater_equal(x, constant_like(x, 0)), dy, scaled)}});
}
Tensor Logsigmoid::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return mul(dy, sigmoid(neg(x)));
}
Tensor Prelu::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return where(greater_equal(a, constant_like(a, 0)), dy, mul(dy, b));
}
Tensor Prelu::derivative_b(const Tensor& a, const Tensor&, const Tensor&, const Tensor& dy) {
    return where(greater_equal(a, constant_like(a, 0)), constant_like(dy, 0), mul(dy, a));
}
Tensor Relu::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return where(greater(y, constant_like(y, 0)), dy, constant_like(dy, 0));
}
Tensor Relu6::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    Tensor outside = logical_or(less_equal(x, constant_like(x, 0)), greater_equal(x, constant_like(x, 6)));
    return where(outside, constant_like(dy, 0), dy);
}
Tensor Sigmoid::derivative(const Tensor&, const Tensor& y, const Tensor& dy) {
    return mul(dy, mul(y, sub(constant_like(y, 1), y)));
}
Tensor Silu::derivative(const Tensor& x, const Tensor& y, const Tensor& dy) {
    // s (1 + x (1 - s)) = s + y (1 - s)
    Tensor s = sigmoid(x);
    return mul(dy, add(s, mul(y, sub(constant_like(s, 1), s))));
}
Tensor Softplus::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, sigmoid(x)); }

}  // namespace mge::ops
