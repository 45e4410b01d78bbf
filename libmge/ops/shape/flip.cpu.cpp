// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cpu, Flip) { return copy_algorithms<plan_flip>(); }

}  // namespace mge::ops
