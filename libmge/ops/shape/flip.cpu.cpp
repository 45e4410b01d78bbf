// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cpu/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cpu, Flip) {
    static constexpr auto list = copy_algorithms<plan_flip>();
    return list;
}

}  // namespace mge::ops
