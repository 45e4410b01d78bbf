// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/where.h"

#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

TensorSpecs Where::infer(const Params&, Specs in) {
    if (in[0].dtype != DType::boolean) throw_value_error(name, "the mask must be bool, got ", in[0].dtype);
    auto out = infer_elementwise(name, in, Accepts::all, false);
    out[0].dtype = in[1].dtype;
    return out;
}

Tensors Where::gradient(const GradientContext<Params>& g) {
    const Tensor &mask = g.input("mask"), &dy = g.output_grad();
    Tensor zero = constant_like(dy, 0), da, db;
    if (g.needs("a")) da = unbroadcast(where(mask, dy, zero), g.input("a"));
    if (g.needs("b")) db = unbroadcast(where(mask, zero, dy), g.input("b"));
    return g.result({{"a", da}, {"b", db}});
}

}  // namespace mge::ops
