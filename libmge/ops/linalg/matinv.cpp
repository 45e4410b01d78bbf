// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matinv.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/linalg/matmul.h"

namespace mge::ops {

TensorSpecs Matinv::infer(const Params&, Specs in) {
    auto& shape = in[0].shape;
    int rank = shape.rank();
    if (rank < 2 || !can_be_equal(name, shape.extent(rank - 1), shape.extent(rank - 2)))
        throw_user(name, text("x must be square matrices (..., n, n), got shape ", shape));
    if (!is_float(in[0].dtype)) throw_type_error(name, "x must be a number, got ", in[0].dtype);
    return {{in[0].dtype, shape, {}}};
}

// d(x⁻¹) = −x⁻¹·dx·x⁻¹
Tensors Matinv::gradient(const GradientContext<Params>& g) {
    Tensor left = matmul(g.output(), g.output_grad(), {.transpose_a = true});
    return g.result({{"x", neg(matmul(left, g.output(), {.transpose_b = true}))}});
}

// Each of n pivots takes a multiply-add for every element of its matrix.
double Matinv::operations(const Params&, Specs in, Specs) {
    auto& x = in[0].shape;
    return 2 * double(x[x.rank() - 1]) * element_count(in[0]);
}

}  // namespace mge::ops
