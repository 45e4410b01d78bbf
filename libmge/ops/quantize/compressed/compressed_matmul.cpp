// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_matmul.h"

#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/quantize/compressed/compressed_product.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"
#include "libmge/ops/shape/reduce_to_shape.h"

namespace mge::ops {
namespace {

using Op = CompressedMatmul;

void check_bias(const TensorSpec& bias, int64_t rows) {
    auto& shape = bias.shape;
    if (bias.dtype != DType::f32 || shape.numel() != rows || shape.rank() < 1 ||
        shape[shape.rank() - 1] != rows)
        throw_user(Op::name, text("its bias must have one float32 value for each of the ", rows,
                                  " rows of the weight, got ", bias.dtype, " of shape ", shape));
}

}  // namespace

TensorSpecs Op::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::f32) throw_type_error(name, "x must be float32, got ", in[0].dtype);
    if (in[0].shape.rank() < 1) throw_user(name, "x must have rows, got a scalar");
    const CompressedWeight weight = compressed_weight(p, in);
    TensorSpec out{DType::f32, in[0].shape, {}};
    out.shape[out.shape.rank() - 1] = weight.rows;
    if (in.size() > 4 && !in[4].is_absent()) check_bias(in[4], weight.rows);
    if (in.size() > 5 && !in[5].is_absent() && !(in[5].dtype == DType::f32 && in[5].shape == out.shape))
        throw_user(name, text("its residual must be float32 of the result's shape ", out.shape, ", got ",
                              in[5].dtype, " of shape ", in[5].shape));
    return {out};
}

Tensors Op::gradient(const GradientContext<Params>& g) {
    if (g.params.activation != Activation::none)
        throw UserError("[compressed_matmul] gradients are taken before an activation is fused into it",
                        ErrorClass::not_implemented);
    const Tensor &x = g.input("x"), &dy = g.output_grad();
    Tensors result(g.inputs.size());
    if (g.needs("x")) {
        Tensor w = expand_weight(
            g.input("steps"), g.input("scale"), g.inputs.size() > 3 ? g.inputs[3] : Tensor(),
            {.columns = x.shape()[x.shape().rank() - 1], .bits = g.params.bits, .group = g.params.group});
        result[0] = matmul(dy, w);
    }
    if (g.inputs.size() > 4 && g.input("bias") && g.needs("bias"))
        result[4] = reduce_to_shape(dy, g.input("bias"));
    if (g.inputs.size() > 5 && g.input("residual")) result[5] = dy;
    return result;
}

double Op::operations(const Params&, Specs in, Specs out) {
    auto& x = in[0].shape;
    double epilogue = double(is_given(in, 4)) + double(is_given(in, 5));
    return element_count(out[0]) * (2 * double(x[x.rank() - 1]) + epilogue);
}

std::optional<BatchIndependence> Op::batch_independence(const Params&, Specs in, Specs) {
    if (in[0].shape.rank() < 2) return std::nullopt;
    return BatchIndependence{.shared_inputs = 0b011110u, .shares_times = true};
}

CompressedWeight compressed_weight(const Op::Params& p, Specs in) {
    auto& x = in[0].shape;
    return compressed_weight(Op::name, p.bits, p.group, x[x.rank() - 1], in[1], in[2],
                             in.size() > 3 ? in[3] : TensorSpec{});
}

int64_t rows_of_x(const Problem& p) {
    auto& shape = p.inputs[0].shape;
    int64_t rows = 1;
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows *= shape[axis];
    return rows;
}

}  // namespace mge::ops
