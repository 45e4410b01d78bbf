// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

namespace mge::ops {

TensorSpecs Flip::infer(const Params& p, Specs in) {
    std::vector<bool> seen(size_t(in[0].shape.rank()), false);
    for (int64_t entry : p.axes) {
        auto axis = size_t(normalize_axis(name, entry, in[0].shape.rank()));
        if (seen[axis]) throw_value_error(name, "axes ", to_text(ParamValue(p.axes)), " list an axis twice");
        seen[axis] = true;
    }
    return {in[0]};
}

Tensors Flip::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", flip(g.output_grad(), g.params)}});
}

StridedCopy plan_flip(const Problem& problem) {
    auto& x = problem.inputs[0];
    StridedSide source{0, dense_strides(x.shape)}, target = source;
    for (int64_t entry : problem.as<Flip::Params>().axes) {
        int axis = normalize_axis(Flip::name, entry, x.shape.rank());
        auto& stride = source.strides[size_t(axis)];
        source.offset += (x.shape[axis] - 1) * stride;
        stride = -stride;
    }
    return {size_of(x.dtype), x.shape, source, target};
}

}  // namespace mge::ops
