// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/batch_norm/batch_norm.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/nn/norm_gradient.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

namespace {

// x is (samples, channels, ...) and every other input has one f32 per channel.
void check_channels(std::string_view who, std::span<const InputInfo> infos, Specs in,
                    size_t first_statistic) {
    if (!is_float(in[0].dtype)) throw_type_error(who, "x must be floating, got ", in[0].dtype);
    if (in[0].shape.rank() < 2)
        throw_value_error(who, "x must have at least 2 axes, got shape ", in[0].shape);
    for (size_t i = first_statistic; i < in.size(); ++i) {
        if (in[i].dtype != DType::f32)
            throw_type_error(who, infos[i].name, " must be float32, got ", in[i].dtype);
        if (!can_be_equal(who, in[i].shape.elements(), in[0].shape.extent(1)))
            throw_value_error(who, infos[i].name, " must have one element for each of the ",
                              in[0].shape.extent(1), " channels of x, got shape ", in[i].shape);
    }
}

// (1, C, 1, …), as often as x has axes.
Tensor along_channels(const Tensor& t, const Tensor& x) {
    if (!t) return t;
    IntList shape(size_t(x.shape().rank()), 1);
    shape[1] = x.shape()[1];
    return reshape(t, {.shape = shape});
}

NormBackward view_of(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& inv_std) {
    NormBackward view{x, dy, along_channels(mean, x), along_channels(inv_std, x), {}, {}, {}, {}, {}};
    for (int axis = 0; axis < x.shape().rank(); ++axis)
        if (axis != 1) view.statistics_axes.push_back(axis);
    view.factor_axes = view.statistics_axes;
    return view;
}

// Training alone makes the saved statistics depend on x.
Tensor through_saved_statistics(const GradientContext<BatchNorm::Params>& g) {
    if (!g.params.training || (!g.output_grad(3) && !g.output_grad(4))) return {};
    const Tensor& x = g.input("x");
    NormBackward view = view_of(x, {}, g.output(3), g.output(4));
    view.dmean = along_channels(g.output_grad(3), x);
    view.dinv_std = along_channels(g.output_grad(4), x);
    return in_form_of(gradient_through_statistics(view), x);
}

}  // namespace

TensorSpecs BatchNorm::infer(const Params&, Specs in) {
    check_channels(name, inputs, in, 1);
    if (!can_be_same(name, in[2].shape, in[1].shape))
        throw_value_error(name, "bias must have the shape ", in[1].shape, " of scale, got ", in[2].shape);
    TensorSpec saved{DType::f32, {}, {}};
    saved.shape.push_back(in[0].shape.extent(1));
    return {{in[0].dtype, in[0].shape, {}},
            {DType::f32, in[3].shape, {}},
            {DType::f32, in[4].shape, {}},
            saved,
            saved};
}

Tensors BatchNorm::gradient(const GradientContext<Params>& g) {
    Tensor dx = through_saved_statistics(g);
    if (!g.output_grad()) return g.result({{"x", dx}});
    Tensors grads = batch_norm_backward(g.input("x"), g.output_grad(), g.input("scale"), g.output(3),
                                        g.output(4), {.training = g.params.training});
    return g.result({{"x", dx ? add(grads[0], dx) : grads[0]}, {"scale", grads[1]}, {"bias", grads[2]}});
}

TensorSpecs BatchNormBackward::infer(const Params&, Specs in) {
    check_channels(name, inputs, in, 2);
    if (!can_be_same(name, in[1].shape, in[0].shape))
        throw_value_error(name, "dy must have the shape ", in[0].shape, " of x, got ", in[1].shape);
    TensorSpec factor{DType::f32, in[2].shape, {}};
    return {{in[0].dtype, in[0].shape, {}}, factor, factor};
}

Tensors BatchNormBackward::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.input("dy"), &scale = g.input("scale");
    const Tensor &mean = g.input("saved_mean"), &inv_std = g.input("saved_inv_std");
    NormBackward view = view_of(x, dy, mean, inv_std);
    view.weight = along_channels(scale, x);
    view.constant_statistics = !g.params.training;
    NormBackwardGrads grads = gradient_of(
        view, {g.output_grad(0), along_channels(g.output_grad(1), x), along_channels(g.output_grad(2), x)});
    return g.result({{"x", in_form_of(grads.x, x)},
                     {"dy", in_form_of(grads.dy, dy)},
                     {"scale", in_form_of(grads.weight, scale)},
                     {"saved_mean", in_form_of(grads.mean, mean)},
                     {"saved_inv_std", in_form_of(grads.inv_std, inv_std)}});
}

std::optional<BatchIndependence> BatchNorm::batch_independence(const Params& p, Specs, Specs) {
    if (p.training) return std::nullopt;
    return BatchIndependence{.shared_inputs = 0b11110, .shared_outputs = 0b11110};
}

}  // namespace mge::ops
