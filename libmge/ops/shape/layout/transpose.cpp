// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

namespace mge::ops {

std::vector<int> transpose_axes(const Transpose::Params& p, int rank) {
    std::vector<int> axes;
    std::vector<bool> seen(size_t(rank), false);
    bool is_permutation = p.pattern.size() == size_t(rank);
    for (int64_t axis : p.pattern) {
        bool is_new = axis >= 0 && axis < rank && !seen[size_t(axis)];
        is_permutation = is_permutation && is_new;
        if (!is_new) continue;
        seen[size_t(axis)] = true;
        axes.push_back(int(axis));
    }
    if (!is_permutation)
        throw_user(Transpose::name, text("pattern ", to_text(ParamValue(p.pattern)),
                                         " is not a permutation of the axes of rank ", rank));
    return axes;
}

TensorSpecs Transpose::infer(const Params& p, Specs in) {
    Shape shape;
    for (int axis : transpose_axes(p, in[0].shape.rank())) shape.push_back(in[0].shape.extent(axis));
    return {{in[0].dtype, shape, {}}};
}

Tensors Transpose::gradient(const GradientContext<Params>& g) {
    auto axes = transpose_axes(g.params, g.input("x").shape().rank());
    IntList inverse(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) inverse[size_t(axes[i])] = int64_t(i);
    return g.result({{"x", transpose(g.output_grad(), {.pattern = inverse})}});
}

StridedCopy plan_transpose(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    Strides strides = dense_strides(x.shape);
    StridedSide source, target{0, dense_strides(y.shape)};
    auto axes = transpose_axes(problem.as<Transpose::Params>(), x.shape.rank());
    for (size_t i = 0; i < axes.size(); ++i) source.strides[i] = strides[size_t(axes[i])];
    return {size_of(x.dtype), y.shape, source, target};
}

}  // namespace mge::ops
