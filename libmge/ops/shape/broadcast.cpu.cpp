// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cpu, BroadcastTo) { return copy_algorithms<plan_broadcast>(); }
KernelList kernels(Cpu, BroadcastLike) { return copy_algorithms<plan_broadcast>(); }

}  // namespace mge::ops
