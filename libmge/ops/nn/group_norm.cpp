// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/group_norm.h"

#include <array>

#include "libmge/device/device.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::ops {

namespace {

// x as (samples, groups, channels of a group, pixels).
Tensor grouped(const Tensor& x, const Tensor& like, int64_t groups) {
    if (!x) return x;
    int64_t channels = like.shape()[1] / groups;
    if (!like.is_symbolic()) {
        int64_t pixels = 1;
        for (int i = 2; i < like.shape().rank(); ++i) pixels *= like.shape()[i];
        return reshape(x, {.shape = {like.shape()[0], groups, channels, pixels}});
    }
    // In a graph the number of samples may change, and the remaining extent is what is left.
    const std::array<int32_t, 3> rest{int32_t(groups), int32_t(channels), -1};
    Tensor target = concat(
        {shape_of(like, {.axis = 0}), tensor_from_host({DType::i32, {3}, {}}, rest.data(), like.device())},
        {.axis = 0});
    return reshape(x, target);
}

}  // namespace

// Checks x against the groups.
RowNormShapes GroupNorm::shapes(std::string_view who, const TensorSpec& x, int64_t groups) {
    if (!is_float(x.dtype)) throw_type_error(who, "x must be floating, got ", x.dtype);
    if (x.shape.rank() < 2) throw_value_error(who, "x must have at least 2 axes, got shape ", x.shape);
    const Extent channels = x.shape.extent(1);
    if (groups < 1 || !can_be_equal(who, channels % groups, 0))
        throw_value_error(who, "groups must divide the ", channels, " channels of x, got ", groups);
    RowNormShapes shapes;
    for (const Extent& extent : {x.shape.extent(0), Extent(groups)}) shapes.statistics.push_back(extent);
    shapes.factor.push_back(channels);
    return shapes;
}

Tensors GroupNormBackward::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.input("dy"), &mean = g.input("mean");
    const Tensor &inv_std = g.input("inv_std"), &weight = g.input("weight");
    const Tensor &dmean = g.input("dmean"), &dinv_std = g.input("dinv_std");
    int64_t groups = g.params.groups, channels = x.shape()[1] / groups;
    auto of_rows = [&](const Tensor& t) { return t ? add_axis(t, {.axes = {2, 3}}) : t; };
    auto of_channels = [&](const Tensor& t) {
        return t ? reshape(t, {.shape = {1, groups, channels, 1}}) : t;
    };
    NormBackwardGrads grads = gradient_of(
        {.x = grouped(x, x, groups),
         .dy = grouped(dy, x, groups),
         .mean = of_rows(mean),
         .inv_std = of_rows(inv_std),
         .weight = of_channels(weight),
         .dmean = of_rows(dmean),
         .dinv_std = of_rows(dinv_std),
         .statistics_axes = {2, 3},
         .factor_axes = {0, 3}},
        {grouped(g.output_grad(0), x, groups), of_channels(g.output_grad(1)), of_channels(g.output_grad(2))});
    return in_form_of_inputs(grads, g.inputs);
}

}  // namespace mge::ops
