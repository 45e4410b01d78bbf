// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/exponential.h"

#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::ops {

Tensor Erf::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    // 2/sqrt(pi) e^(-x^2)
    return mul(dy, mul(exp(neg(square(x))), constant_like(x, 1.1283791670955126)));
}
Tensor Exp::derivative(const Tensor&, const Tensor& y, const Tensor& dy) { return mul(dy, y); }
// Not y + 1, which has no digits left where y is almost -1.
Tensor Expm1::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return mul(dy, exp(x)); }
Tensor Log::derivative(const Tensor& x, const Tensor&, const Tensor& dy) { return div(dy, x); }
Tensor Log1p::derivative(const Tensor& x, const Tensor&, const Tensor& dy) {
    return div(dy, add(x, constant_like(x, 1)));
}
// e^a / (e^a + e^b) = sigmoid(a - b), which knows infinities
Tensor Logaddexp::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return mul(dy, sigmoid(sub(a, b)));
}
Tensor Logaddexp::derivative_b(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return mul(dy, sigmoid(sub(b, a)));
}
Tensor Pow::derivative_a(const Tensor& a, const Tensor& b, const Tensor&, const Tensor& dy) {
    return mul(dy, mul(b, pow(a, sub(b, constant_like(b, 1)))));
}
Tensor Pow::derivative_b(const Tensor& a, const Tensor&, const Tensor& y, const Tensor& dy) {
    return mul(dy, mul(y, log(a)));
}

}  // namespace mge::ops
