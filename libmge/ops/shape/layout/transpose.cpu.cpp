// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cpu, Transpose) {
    static constexpr auto list = copy_algorithms<plan_transpose>();
    return list;
}

}  // namespace mge::ops
