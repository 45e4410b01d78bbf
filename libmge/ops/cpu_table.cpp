// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/built.h"

namespace mge {

std::span<const KernelEntry> cpu_kernel_table() {
    static constexpr auto table = kernel_table<Cpu>(BuiltOps{});
    return table;
}

}  // namespace mge
