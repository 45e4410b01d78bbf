// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul_geometry.h"

#include "libmge/base/number_text.h"

namespace mge::ops {
namespace {

// An operand as a matrix, with vectors filled up.
struct Operand {
    Shape batch;
    int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;
};

Shape batch_of(const Shape& shape) {
    Shape batch;
    for (int i = 0; i < shape.rank() - 2; ++i) batch.push_back(shape.extent(i));
    return batch;
}

std::string counted_columns(const Extent& n, std::string_view what) {
    return n.is_number() ? counted(n.number(), what) : text(n, ' ', what, 's');
}

Operand read_operand(const Shape& shape, bool transposed, bool vector_is_row) {
    Operand operand;
    int rank = shape.rank();
    if (rank == 1) {
        (vector_is_row ? operand.columns : operand.rows) = shape[0];
        operand.row_stride = vector_is_row ? shape[0] : 1;
        operand.column_stride = 1;
        return operand;
    }
    operand.batch = batch_of(shape);
    operand.rows = shape[rank - 2];
    operand.columns = shape[rank - 1];
    operand.row_stride = shape[rank - 1];
    operand.column_stride = 1;
    if (transposed) {
        std::swap(operand.rows, operand.columns);
        std::swap(operand.row_stride, operand.column_stride);
    }
    return operand;
}

Shape with_rank(const Shape& shape, int rank) {
    Shape result = shape;
    while (result.rank() < rank) result.insert(0, 1);
    return result;
}

void merge_batches(MatmulGeometry& g, bool a_is_transposed) {
    if (g.batch.rank() == 0) return;
    if (g.batch.numel() == 1) {
        g.batch = g.a_batch = g.b_batch = {};
    } else if (g.a_batch == g.batch && g.b_batch == g.batch) {
        g.batch = g.a_batch = g.b_batch = {g.batch.numel()};
    } else if (g.a_batch == g.batch && g.b_batch.numel() == 1 && !a_is_transposed) {
        g.m *= g.batch.numel();
        g.batch = g.a_batch = g.b_batch = {};
    }
}

}  // namespace

int64_t MatmulGeometry::offset(const Shape& own, int64_t matrix, int64_t index) const {
    int64_t result = 0, stride = matrix;
    for (int axis = batch.rank(); axis-- > 0;) {
        if (own[axis] != 1) result += index % batch[axis] * stride;
        index /= batch[axis];
        stride *= own[axis];
    }
    return result;
}

Shape matmul_shape(const Matmul::Params& params, const Shape& a, const Shape& b) {
    if (a.rank() == 0 || b.rank() == 0)
        throw_user(Matmul::name, text("takes vectors and matrices, got shapes ", a, " and ", b),
                   ErrorClass::assertion);
    bool transpose_a = params.transpose_a && a.rank() > 1, transpose_b = params.transpose_b && b.rank() > 1;
    int rows = a.rank() - (transpose_a ? 1 : 2), columns = b.rank() - (transpose_b ? 2 : 1);
    Extent of_a = a.extent(transpose_a ? a.rank() - 2 : a.rank() - 1);
    Extent of_b = b.extent(transpose_b || b.rank() == 1 ? b.rank() - 1 : b.rank() - 2);
    if (!can_be_equal(Matmul::name, of_a, of_b))
        throw_user(Matmul::name,
                   text("shapes ", a, transpose_a ? " transposed" : "", " and ", b,
                        transpose_b ? " transposed" : "", " do not fit: ", counted_columns(of_a, "column"),
                        " against ", counted_columns(of_b, "row")));
    Shape y = broadcast_shapes(Matmul::name, batch_of(a), batch_of(b));
    if (a.rank() > 1) y.push_back(a.extent(rows));
    if (b.rank() > 1) y.push_back(b.extent(columns));
    return y;
}

MatmulGeometry matmul_geometry(const Matmul::Params& params, const Shape& a, const Shape& b) {
    MatmulGeometry g;
    g.output = matmul_shape(params, a, b);
    bool transpose_a = params.transpose_a && a.rank() > 1, transpose_b = params.transpose_b && b.rank() > 1;
    Operand left = read_operand(a, transpose_a, true), right = read_operand(b, transpose_b, false);
    g.m = left.rows;
    g.n = right.columns;
    g.k = left.columns;
    g.batch = broadcast_shapes(Matmul::name, left.batch, right.batch);
    g.a_batch = with_rank(left.batch, g.batch.rank());
    g.b_batch = with_rank(right.batch, g.batch.rank());
    g.a_stride_m = left.row_stride;
    g.a_stride_k = left.column_stride;
    g.b_stride_k = right.row_stride;
    g.b_stride_n = right.column_stride;
    merge_batches(g, transpose_a);
    return g;
}

}  // namespace mge::ops
