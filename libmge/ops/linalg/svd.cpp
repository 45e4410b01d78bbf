// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/svd.h"

#include <algorithm>

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

TensorSpecs Svd::infer(const Params&, Specs in) {
    auto& x = in[0].shape;
    int rank = x.rank();
    if (rank < 2) throw_user(name, text("x must be matrices (..., m, n), got shape ", x));
    if (!is_float(in[0].dtype)) throw_type_error(name, "x must be a number, got ", in[0].dtype);
    int64_t k = std::min(x[rank - 2], x[rank - 1]);
    Shape u = x, s, v = x;
    u[rank - 1] = v[rank - 2] = k;
    for (int i = 0; i < rank - 2; ++i) s.push_back(x[i]);
    s.push_back(k);
    return {{in[0].dtype, u, {}}, {in[0].dtype, s, {}}, {in[0].dtype, v, {}}};
}

namespace {

Tensor transposed_product(const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_a = true}); }
Tensor product_transposed(const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_b = true}); }
Tensor sum_of(const Tensor& a, const Tensor& b) { return a && b ? add(a, b) : a ? a : b; }

}  // namespace

// With skew(y) = y − yᵀ and e[i, j] = s[j]² − s[i]² (Townsend, "Differentiating the singular value
// decomposition", 2016):
//
//     dx = u (skew(uᵀ·du) / e · s + s · skew(v·dvᵀ) / e + ds) v + (1 − u·uᵀ) du / s · v + u / s · dv (1 −
//     vᵀ·v)
//
// Equal singular values have no gradient of their own vectors: they count as if they were far apart.
Tensors Svd::gradient(const GradientContext<Params>& g) {
    const Tensor &u = g.output(0), &s = g.output(1), &v = g.output(2);
    const Tensor &du = g.output_grad(0), &ds = g.output_grad(1), &dv = g.output_grad(2);
    Tensor row = add_axis(s, {.axes = {-2}}), column = add_axis(s, {.axes = {-1}});  // s, of columns or rows
    Tensor e = sub(square(row), square(column));
    e = where(equal(e, constant_like(e, 0)), constant_like(e, 1), e);
    Tensor inner, dx;
    if (du) {
        Tensor along = transposed_product(u, du);
        Tensor skew = sub(along, transposed_product(du, u));
        inner = mul(div(skew, e), row);
        dx = matmul(div(sub(du, matmul(u, along)), row), v);
    }
    if (dv) {
        Tensor along = product_transposed(dv, v);
        Tensor skew = sub(product_transposed(v, dv), along);
        inner = sum_of(inner, mul(column, div(skew, e)));
        dx = sum_of(dx, matmul(div(u, row), sub(dv, matmul(along, v))));
    }
    if (inner) dx = sum_of(dx, matmul(matmul(u, inner), v));
    if (ds) dx = sum_of(dx, matmul(mul(u, add_axis(ds, {.axes = {-2}})), v));
    return g.result({{"x", dx}});
}

}  // namespace mge::ops
