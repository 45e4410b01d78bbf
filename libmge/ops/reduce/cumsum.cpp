// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/cumsum.h"

#include "libmge/ops/shape/flip.h"

namespace mge::ops {

TensorSpecs Cumsum::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::boolean)
        throw_user(name, "dtype bool is not allowed; it takes integers and floats, convert with astype");
    if (in[0].shape.is_known()) normalize_axis(name, p.axis, in[0].shape.rank());
    return {{in[0].dtype, in[0].shape, {}}};
}

// Each x counts in all sums from its place on: the running sum from the other end.
Tensors Cumsum::gradient(const GradientContext<Params>& g) {
    if (!is_float(g.input("x").dtype())) return g.result({});
    IntList axes{g.params.axis};
    Tensor from_end = flip(g.output_grad(), {.axes = axes});
    return g.result({{"x", flip(cumsum(from_end, g.params), {.axes = axes})}});
}

}  // namespace mge::ops
