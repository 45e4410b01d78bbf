// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {
namespace {

constexpr auto list = copy_algorithms<plan_broadcast>();

}  // namespace

KernelList kernels(Cpu, BroadcastTo) { return list; }
KernelList kernels(Cpu, BroadcastLike) { return list; }

}  // namespace mge::ops
