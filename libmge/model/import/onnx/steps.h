// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions and sums of quantised values, computed in steps: operators between DequantizeLinear and
// QuantizeLinear, and operators on steps. Halves of a step are rounded away from zero here, in ONNX to even:
// results may differ by one step if a sum is exactly between two.

#include "libmge/graph/builder.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::onnx {

// The steps of a tensor of bytes, with one scale and zero point, or one for each element of an axis. A null
// zero point is 0.
struct Steps {
    Tensor values, scale, zero;
};
bool is_byte(DType dtype);
// In every run: operands added in steps are not broadcast.
bool have_one_shape(const Tensor& a, const Tensor& b);
// The result of a dequantize of the graph.
bool is_dequantised(const GraphBuilder& builder, const Tensor& t);

// y = quantised(t) without computing t; null: t cannot be computed in steps.
Tensor in_steps(GraphBuilder& builder, const Tensor& t, const Tensor& scale, const Tensor& zero, DType dtype);

struct StepConvolution {
    Steps x, weight;  // the weight with its groups, scales along its output channels
    Tensor bias;      // i32 (channels), in products of both scales; may be null
    ops::Conv2d::Params window;
};
// In steps of y and the dtype of its values, or without a scale the sums as i32. Null: a zero point differs
// between channels.
Tensor convolved_steps(const StepConvolution& convolution, const Steps& y);

// Rows times a matrix that never changes: a convolution of as many images of a pixel as there are rows.
struct StepProduct {
    Steps a, b;   // scales of b along its columns
    Tensor bias;  // as for a convolution
    bool transposes_b = false;
    Activation activation = Activation::none;
};
bool is_product_of_steps(const StepProduct& product);
// As convolved_steps(); null: it is not such a product.
Tensor multiplied_steps(const StepProduct& product, const Steps& y);

}  // namespace mge::onnx
