// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cpu, Transpose) { return copy_algorithms<plan_transpose>(); }

}  // namespace mge::ops
