// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul.h"

#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/linalg/matmul_geometry.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

namespace {

// Products of narrow integers are sums in int32.
DType result_dtype(DType dtype) {
    if (dtype == DType::boolean)
        throw_type_error(Matmul::name, "takes numbers, got bool; convert with astype");
    return is_int(dtype) && size_of(dtype) < 4 ? DType::i32 : dtype;
}

// Matrices alone have the shapes that they have; several may be broadcast, those of a batch of one as well.
Tensor reduced(const Tensor& x, const Tensor& like) {
    bool are_several = like.shape().is_known() && like.shape().rank() > 2;
    return !are_several && x.shape() == like.shape() ? x : unbroadcast(x, like);
}
// The first axis is left open, so that a recorded gradient serves other batch sizes too.
Tensor reshaped(const Tensor& x, const Shape& shape) {
    if (x.shape() == shape) return x;
    IntList list(shape.begin(), shape.end());
    if (!list.empty() && shape.numel() > 0) list[0] = -1;
    return reshape(x, {.shape = std::move(list)});
}

Tensor like_input(const Tensor& x, const Tensor& input) {
    return x.shape() == input.shape() ? x : reshape_like(x, input);
}

// The operands as matrices: vectors filled up, and leading axes of a stacked where b is a single matrix.
struct Matrices {
    Tensor a, b, dy;
    bool transpose_a, transpose_b;
};

Matrices as_matrices(const GradientContext<Matmul::Params>& g) {
    const Tensor &a = g.input("a"), &b = g.input("b"), &dy = g.output_grad();
    Shape a_shape = a.shape(), b_shape = b.shape(), dy_shape = dy.shape();
    Matrices result{a, b, dy, g.params.transpose_a, g.params.transpose_b};
    if (a_shape.rank() == 1) {
        dy_shape.insert(b_shape.rank() == 1 ? 0 : dy_shape.rank() - 1, 1);
        a_shape.insert(0, 1);
        result.transpose_a = false;
    }
    if (b_shape.rank() == 1) {
        dy_shape.push_back(1);
        b_shape.push_back(1);
        result.transpose_b = false;
    }
    if (a_shape.rank() > 2 && b_shape.rank() == 2 && !result.transpose_a && a_shape.numel() > 0) {
        int64_t k = a_shape[a_shape.rank() - 1], n = dy_shape[dy_shape.rank() - 1];
        a_shape = {a_shape.numel() / k, k};
        dy_shape = {a_shape[0], n};
    }
    result.a = reshaped(a, a_shape);
    result.b = reshaped(b, b_shape);
    result.dy = reshaped(dy, dy_shape);
    return result;
}

// y = A B, where A and B are a and b or their transposes: dA = dy Bᵀ, dB = Aᵀ dy.
Tensor gradient_of_a(const Matrices& x) {
    if (x.transpose_a) return matmul(x.b, x.dy, {.transpose_a = x.transpose_b, .transpose_b = true});
    return matmul(x.dy, x.b, {.transpose_b = !x.transpose_b});
}
Tensor gradient_of_b(const Matrices& x) {
    if (x.transpose_b) return matmul(x.dy, x.a, {.transpose_a = true, .transpose_b = x.transpose_a});
    return matmul(x.a, x.dy, {.transpose_a = !x.transpose_a});
}

void check_operands(const TensorSpec& out, Specs in) {
    if (in.size() > 2 && !in[2].is_absent()) {
        // A vector b is a single column: the last axis of the result counts rows then.
        Extent n = in[1].shape.rank() > 1 ? out.shape.extent(out.shape.rank() - 1) : 1;
        auto& bias = in[2].shape;
        if (!can_be_equal(Matmul::name, bias.elements(), n) ||
            (bias.rank() && !can_be_equal(Matmul::name, bias.extent(bias.rank() - 1), n)))
            throw_user(Matmul::name,
                       text("its bias must have one value for each of the ", n, " columns, got ", bias));
    }
    if (in.size() > 3 && !in[3].is_absent() && !can_be_same(Matmul::name, in[3].shape, out.shape))
        throw_user(Matmul::name,
                   text("its residual must have the result's shape ", out.shape, ", got ", in[3].shape));
}

}  // namespace

TensorSpecs Matmul::infer(const Params& p, Specs in) {
    TensorSpec out{result_dtype(in[0].dtype), matmul_shape(p, in[0].shape, in[1].shape), {}};
    check_operands(out, in);
    return {out};
}

Tensors Matmul::gradient(const GradientContext<Params>& g) {
    if (g.params.activation != Activation::none)
        throw UserError("[matmul] gradients are taken before an activation is fused into it",
                        ErrorClass::not_implemented);
    Matrices x = as_matrices(g);
    Tensor da, db, dbias, dresidual;
    if (g.needs("a")) {
        da = gradient_of_a(x);
        da = like_input(reduced(da, x.a), g.input("a"));
    }
    if (g.needs("b")) {
        db = gradient_of_b(x);
        db = like_input(reduced(db, x.b), g.input("b"));
    }
    if (g.inputs.size() > 2 && g.input("bias") && g.needs("bias"))
        dbias = reduced(g.output_grad(), g.input("bias"));
    if (g.inputs.size() > 3 && g.input("residual")) dresidual = g.output_grad();
    Tensors result(g.inputs.size());
    Tensor all[] = {da, db, dbias, dresidual};
    for (size_t i = 0; i < result.size(); ++i) result[i] = all[i];
    return result;
}

double Matmul::operations(const Params& p, Specs in, Specs out) {
    auto& a = in[0].shape;
    int k_axis = a.rank() > 1 && p.transpose_a ? a.rank() - 2 : a.rank() - 1;
    // Bias and residual add once per element each.
    double epilogue = double(is_given(in, 2)) + double(is_given(in, 3));
    return element_count(out[0]) * (2 * double(a[k_axis]) + epilogue);
}

// The first axis of `a` is that of the result, unless a is a transposed matrix or there is a larger batch.
// Beside a single matrix of rows, b is one matrix for all of them; the bias is one for all anyway.
std::optional<BatchIndependence> Matmul::batch_independence(const Params& p, Specs in, Specs out) {
    int rank = in[0].shape.rank();
    if (rank < 2 || rank != out[0].shape.rank() || (rank == 2 && p.transpose_a)) return std::nullopt;
    return BatchIndependence{.shared_inputs = rank == 2 ? 0b0110u : 0b0100u, .shares_times = true};
}

}  // namespace mge::ops
