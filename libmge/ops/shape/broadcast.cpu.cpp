// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {
namespace {

StridedCopy plan_broadcast(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    return {size_of(x.dtype), y.shape, {0, broadcast_strides(x.shape, y.shape)}, {0, dense_strides(y.shape)}};
}

constexpr auto list = copy_algorithms<plan_broadcast>();

}  // namespace

KernelList kernels(Cpu, BroadcastTo) { return list; }
KernelList kernels(Cpu, BroadcastLike) { return list; }

}  // namespace mge::ops
