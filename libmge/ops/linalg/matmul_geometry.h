// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "libmge/ops/linalg/matmul.h"

namespace mge::ops {

// A matmul as y[batch][m][n] = sum over k of a[batch][m][k] * b[batch][k][n]; vectors are matrices with one
// row (a) or column (b). Strides count elements; batch strides are 0 where an operand is broadcast.
struct MatmulGeometry {
    int64_t m = 1, n = 1, k = 1;
    Shape batch;  // broadcast extents
    Shape a_batch, b_batch;
    int64_t a_stride_m = 0, a_stride_k = 0, b_stride_k = 0, b_stride_n = 0;
    Shape output;  // with the axes of vectors removed

    int64_t batches() const { return batch.numel(); }
    // Element offset of a (or b) for the i-th batch in row-major order.
    int64_t a_offset(int64_t i) const { return offset(a_batch, m * k, i); }
    int64_t b_offset(int64_t i) const { return offset(b_batch, k * n, i); }

private:
    int64_t offset(const Shape& own, int64_t matrix, int64_t index) const;
};

// The shape of the result, for symbolic shapes too. UserError if the shapes do not fit together.
MGE_API Shape matmul_shape(const Matmul::Params& params, const Shape& a, const Shape& b);

// UserError like that of matmul_shape(). A single batch has no axis; batches with equal strides, or where b
// has none and a's rows can simply be stacked, are merged: then `batch` has at most one axis.
MGE_API MatmulGeometry matmul_geometry(const Matmul::Params& params, const Shape& a, const Shape& b);

}  // namespace mge::ops
