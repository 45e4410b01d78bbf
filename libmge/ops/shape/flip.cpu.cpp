// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {
namespace {

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

}  // namespace

KernelList kernels(Cpu, Flip) {
    static constexpr auto list = copy_algorithms<plan_flip>();
    return list;
}

}  // namespace mge::ops
