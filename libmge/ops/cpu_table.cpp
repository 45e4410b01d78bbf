// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/all.h"

namespace mge {

std::span<const KernelEntry> cpu_kernel_table() {
    static constexpr auto table = kernel_table<Cpu>(AllOps{});
    return table;
}

}  // namespace mge
