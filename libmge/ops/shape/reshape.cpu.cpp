// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reshape.h"

#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_copy(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].bytes());
}

// Interpreters make a view instead; this copy serves when the memory cannot be shared.
void run_copy(const Prepared& prepared, const Launch& launch) {
    const char* x = launch.in<char>(0);
    char* y = launch.out<char>(0);
    if (x == y) return;
    constexpr int64_t bytes_per_nanosecond = 8;
    par_for(launch.threads, int64_t(prepared.state<size_t>()), parallel_grain * bytes_per_nanosecond,
            [&](int64_t begin, int64_t end) { std::memcpy(y + begin, x + begin, size_t(end - begin)); });
}

constexpr Algorithm list[] = {{"copy", plain_layouts, prepare_copy, run_copy}};

}  // namespace

KernelList kernels(Cpu, Reshape) { return list; }
KernelList kernels(Cpu, ReshapeLike) { return list; }
KernelList kernels(Cpu, Flatten) { return list; }
KernelList kernels(Cpu, AddAxis) { return list; }
KernelList kernels(Cpu, RemoveAxis) { return list; }

}  // namespace mge::ops
