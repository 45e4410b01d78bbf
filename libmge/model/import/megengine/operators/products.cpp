// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/linalg/matinv.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/linalg/svd.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::megengine {
namespace {

Tensor product(const Site& site) {
    auto& p = site.params<file::MatrixMul>();
    if (p.format()) unsupported("matrices in the blocked format ", p.format());
    return ops::matmul(site.in(0), site.in(1),
                       {.transpose_a = p.transpose_a(), .transpose_b = p.transpose_b()});
}

}  // namespace

Tensors import_matmul(const Site& site) { return {product(site)}; }
Tensors import_batched_matmul(const Site& site) { return {product(site)}; }

Tensors import_dot(const Site& site) {
    return {ops::sum(ops::mul(site.in(0), site.in(1)), {.axes = {-1}, .keepdims = true})};
}

Tensors import_matrix_inverse(const Site& site) { return {ops::matinv(site.in(0))}; }

// The vectors are always computed, even if only the values are used.
Tensors import_svd(const Site& site) {
    auto& p = site.params<file::SVD>();
    if (p.full_matrices() && p.compute_uv()) unsupported("full matrices of singular vectors");
    return ops::svd(site.in(0));
}

}  // namespace mge::megengine
