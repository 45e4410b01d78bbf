// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/layer_norm.h"

#include "libmge/op/define.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/nn/check_shape.h"
#include "libmge/ops/nn/norm_gradient.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

constinit const OpInfo LayerNorm::info = define<LayerNorm>();
constinit const OpInfo LayerNormBackward::info = define<LayerNormBackward>();

namespace {

// The leading axes of x, which have one mean each, and the trailing ones.
struct Parts {
    Shape rows, normalized;
};

Parts split_shape(std::string_view who, const TensorSpec& x, int axes) {
    if (!is_float(x.dtype)) throw_user(who, text("x has to be floating, got ", x.dtype), ErrorClass::type);
    int rank = x.shape.rank();
    if (axes < 1 || axes > rank)
        throw_user(who, text("axes must be in [1, ", rank, "] for x of shape ", x.shape, ", got ", axes),
                   ErrorClass::value);
    Parts parts;
    for (int i = 0; i < rank; ++i) (i < rank - axes ? parts.rows : parts.normalized).push_back(x.shape[i]);
    return parts;
}

}  // namespace

TensorSpecs LayerNorm::infer(const Params& p, std::span<const TensorSpec> in) {
    auto parts = split_shape(name, in[0], p.axes);
    for (size_t i = 1; i < in.size(); ++i) check_shape(name, inputs[i].name, in[i], parts.normalized);
    TensorSpec statistics{DType::f32, parts.rows, {}};
    return {{in[0].dtype, in[0].shape, {}}, statistics, statistics};
}

Tensors LayerNorm::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &weight = g.input("weight");
    Tensor dy = g.output_grad() ? g.output_grad() : full_like(x, {.value = 0});
    Tensors grads =
        layer_norm_backward({x, dy, g.output(1), g.output(2), weight, g.output_grad(1), g.output_grad(2)},
                            {.axes = g.params.axes});
    return g.result({{"x", grads[0]},
                     {"weight", weight ? grads[1] : Tensor()},
                     {"bias", g.input("bias") ? grads[2] : Tensor()}});
}

TensorSpecs LayerNormBackward::infer(const Params& p, std::span<const TensorSpec> in) {
    auto parts = split_shape(name, in[0], p.axes);
    check_shape(name, "dy", in[1], in[0].shape);
    check_shape(name, "mean", in[2], parts.rows);
    check_shape(name, "inv_std", in[3], parts.rows);
    if (in.size() > 4) check_shape(name, "weight", in[4], parts.normalized);
    for (size_t i = 5; i < in.size(); ++i) check_shape(name, inputs[i].name, in[i], parts.rows);
    TensorSpec factor{in[0].dtype, parts.normalized, {}};
    return {{in[0].dtype, in[0].shape, {}}, factor, factor};
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
    return g.result({{"x", in_form_of(grads.x, x)},
                     {"dy", in_form_of(grads.dy, dy)},
                     {"mean", in_form_of(grads.mean, mean)},
                     {"inv_std", in_form_of(grads.inv_std, inv_std)},
                     {"weight", in_form_of(grads.weight, weight)},
                     {"dmean", in_form_of(grads.dmean, dmean)},
                     {"dinv_std", in_form_of(grads.dinv_std, dinv_std)}});
}

std::optional<ItemsApart> LayerNorm::items_apart(const Params& p, std::span<const TensorSpec> in,
                                                 std::span<const TensorSpec>) {
    return p.axes < in[0].shape.rank() ? std::optional(ItemsApart{}) : std::nullopt;
}

}  // namespace mge::ops
