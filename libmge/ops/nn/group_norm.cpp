// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/group_norm.h"

#include "libmge/op/define.h"
#include "libmge/ops/create/full.h"

namespace mge::ops {

constinit const OpInfo GroupNorm::info = define<GroupNorm>();
constinit const OpInfo GroupNormBackward::info = define<GroupNormBackward>();

namespace {

// Checks x against the groups; returns the shape of the statistics.
Shape statistics_shape(std::string_view who, const TensorSpec& x, int64_t groups) {
    if (x.shape.rank() < 2)
        throw_user(who, text("x must have at least 2 axes, got shape ", x.shape), ErrorClass::value);
    if (groups < 1 || x.shape[1] % groups != 0)
        throw_user(who, text("groups must divide the ", x.shape[1], " channels of x, got ", groups),
                   ErrorClass::value);
    return {x.shape[0], groups};
}

void check_shape(std::string_view who, std::string_view input, const TensorSpec& spec, const Shape& shape) {
    if (!spec.is_absent() && spec.shape != shape)
        throw_user(who, text(input, " must have shape ", shape, ", got ", spec.shape), ErrorClass::value);
}

}  // namespace

TensorSpecs GroupNorm::infer(const Params& p, std::span<const TensorSpec> in) {
    Shape shape = statistics_shape(name, in[0], p.groups);
    for (size_t i = 1; i < in.size(); ++i) check_shape(name, inputs[i].name, in[i], {in[0].shape[1]});
    TensorSpec statistics{DType::f32, shape, {}};
    return {{in[0].dtype, in[0].shape, {}}, statistics, statistics};
}

Tensors GroupNorm::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &weight = g.input("weight");
    Tensor dy = g.output_grad() ? g.output_grad() : full_like(x, {.value = 0});
    Tensors grads =
        group_norm_backward({x, dy, g.output(1), g.output(2), weight, g.output_grad(1), g.output_grad(2)},
                            {.groups = g.params.groups});
    return g.result({{"x", grads[0]},
                     {"weight", weight ? grads[1] : Tensor()},
                     {"bias", g.input("bias") ? grads[2] : Tensor()}});
}

TensorSpecs GroupNormBackward::infer(const Params& p, std::span<const TensorSpec> in) {
    Shape shape = statistics_shape(name, in[0], p.groups);
    check_shape(name, "dy", in[1], in[0].shape);
    check_shape(name, "mean", in[2], shape);
    check_shape(name, "inv_std", in[3], shape);
    if (in.size() > 4) check_shape(name, "weight", in[4], {in[0].shape[1]});
    for (size_t i = 5; i < in.size(); ++i) check_shape(name, inputs[i].name, in[i], shape);
    TensorSpec factor{in[0].dtype, {in[0].shape[1]}, {}};
    return {{in[0].dtype, in[0].shape, {}}, factor, factor};
}

}  // namespace mge::ops
