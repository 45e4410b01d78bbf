// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/transpose.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {
namespace {

StridedCopy plan_transpose(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    Strides strides = dense_strides(x.shape);
    StridedSide source, target{0, dense_strides(y.shape)};
    auto axes = transpose_axes(problem.as<Transpose::Params>(), x.shape.rank());
    for (size_t i = 0; i < axes.size(); ++i) source.strides[i] = strides[size_t(axes[i])];
    return {size_of(x.dtype), y.shape, source, target};
}

}  // namespace

KernelList kernels(Cpu, Transpose) {
    static constexpr auto list = copy_algorithms<plan_transpose>();
    return list;
}

}  // namespace mge::ops
