// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/wait_for.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) { return Prepared::make(context.problem.outputs[0].bytes()); }

// Interpreters make a view instead; this copy serves when the memory cannot be shared.
void run(const Prepared& prepared, const Launch& launch) {
    if (launch.in<char>(0) != launch.out<char>(0))
        std::copy_n(launch.in<char>(0), prepared.state<size_t>(), launch.out<char>(0));
}

}  // namespace

KernelList kernels(Cpu, WaitFor) { return one_algorithm<prepare, run>("copy"); }

}  // namespace mge::ops
