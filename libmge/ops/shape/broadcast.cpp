// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/ops/shape/reduce_to_shape.h"

namespace mge::ops {
namespace {

TensorSpec repeated(const char* who, const TensorSpec& x, const Shape& to) {
    if (!can_be_repeated(who, x.shape, to))
        throw_user(who, text("cannot broadcast ", x.shape, " to ", to,
                             ": counted from the end, sizes must be equal or 1"));
    return {x.dtype, to, {}};
}

}  // namespace

TensorSpecs BroadcastTo::infer(const Params& p, Specs in) {
    IntList dims = p.shape;
    for (size_t i = 0; i < dims.size(); ++i) {
        int axis = in[0].shape.rank() - int(dims.size()) + int(i);
        bool is_negative = dims[i] < -1 && !Extent::is_handle(dims[i]);
        if (is_negative || (dims[i] == -1 && axis < 0))
            throw_value_error(name, "extent ", dims[i], " at place ", i, " of ", to_text(ParamValue(dims)),
                              ": only -1 is allowed, for an axis that x has");
        if (dims[i] == -1) dims[i] = in[0].shape.extent(axis).raw();
    }
    return {repeated(name, in[0], Shape(dims))};
}

BroadcastTo::Params BroadcastTo::resolve(const Params& p, std::span<const Tensor> values) {
    return values.empty() || !values[0] ? p : Params{host_values(values[0])};
}

TensorSpecs BroadcastLike::infer(const Params&, Specs in) { return {repeated(name, in[0], in[1].shape)}; }

Tensors BroadcastTo::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", reduce_to_shape(g.output_grad(), g.input("x"))}});
}
Tensors BroadcastLike::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", reduce_to_shape(g.output_grad(), g.input("x"))}});
}

StridedCopy plan_broadcast(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    return {size_of(x.dtype), y.shape, {0, broadcast_strides(x.shape, y.shape)}, {0, dense_strides(y.shape)}};
}

}  // namespace mge::ops
