// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/concat.h"

#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_parts(const PrepareContext& context) {
    return Prepared::make(cpu::loops_of(plan_concat(context.problem)));
}

void run_parts(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<cpu::CopyLoops>>();
    for (size_t i = 0; i < parts.size(); ++i)
        parts[i].run(launch.inputs[i], launch.outputs[0], launch.threads);
}
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<cpu::CopyLoops>>();
    for (size_t i = 0; i < parts.size(); ++i) parts[i].run_naive(launch.inputs[i], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cpu, Concat) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_parts, run_parts},
        {"reference", plain_layouts, prepare_parts, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
