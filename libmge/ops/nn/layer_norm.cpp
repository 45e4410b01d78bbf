// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/layer_norm.h"

#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

// Places along the leading axes of x have one mean each, those along the trailing ones a factor.
RowNormShapes LayerNorm::shapes(std::string_view who, const TensorSpec& x, int axes) {
    if (!is_float(x.dtype)) throw_type_error(who, "x must be floating, got ", x.dtype);
    int rank = x.shape.rank();
    if (axes < 1 || axes > rank)
        throw_value_error(who, "axes must be in [1, ", rank, "] for x of shape ", x.shape, ", got ", axes);
    RowNormShapes shapes;
    for (int i = 0; i < rank; ++i)
        (i < rank - axes ? shapes.statistics : shapes.factor).push_back(x.shape.extent(i));
    return shapes;
}

Tensors LayerNormBackward::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.input("dy"), &mean = g.input("mean");
    const Tensor &inv_std = g.input("inv_std"), &weight = g.input("weight");
    const Tensor &dmean = g.input("dmean"), &dinv_std = g.input("dinv_std");
    IntList leading, trailing;
    for (int axis = 0; axis < x.shape().rank(); ++axis)
        (axis < x.shape().rank() - g.params.axes ? leading : trailing).push_back(axis);
    // (rows, 1, …): to be broadcast along the trailing axes. The factors are so as they are.
    auto of_rows = [&](const Tensor& t) { return t ? add_axis(t, {.axes = trailing}) : t; };
    NormBackwardGrads grads = gradient_of({.x = x,
                                           .dy = dy,
                                           .mean = of_rows(mean),
                                           .inv_std = of_rows(inv_std),
                                           .weight = weight,
                                           .dmean = of_rows(dmean),
                                           .dinv_std = of_rows(dinv_std),
                                           .statistics_axes = trailing,
                                           .factor_axes = leading},
                                          {g.output_grad(0), g.output_grad(1), g.output_grad(2)});
    return in_form_of_inputs(grads, g.inputs);
}

std::optional<BatchIndependence> LayerNorm::batch_independence(const Params& p, Specs in, Specs) {
    return p.axes < in[0].shape.rank() ? std::optional(BatchIndependence{}) : std::nullopt;
}

}  // namespace mge::ops
