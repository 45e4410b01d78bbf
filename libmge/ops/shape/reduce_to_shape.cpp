// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reduce_to_shape.h"

#include "libmge/ops/shape/broadcast.h"

namespace mge::ops {

TensorSpecs ReduceToShape::infer(const Params& p, Specs in) {
    auto& x = in[0].shape;
    if (in[0].dtype == DType::boolean) throw_type_error(name, "bool has no sum; convert x first");
    Shape to = in.size() > 1 && !in[1].is_absent() ? in[1].shape : Shape(p.shape);
    if (!can_be_repeated(name, to, x)) throw_user(name, text("shape ", to, " does not broadcast to ", x));
    return {{in[0].dtype, to, {}}};
}

Tensors ReduceToShape::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", broadcast_like(g.output_grad(), g.input("x"))}});
}

}  // namespace mge::ops
