// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/roll/roll.h"

#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_roll(const PrepareContext& context) {
    return Prepared::make(cpu::loops_of(plan_roll(context.problem)));
}

void run_roll(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<std::vector<cpu::CopyLoops>>())
        part.run(launch.inputs[0], launch.outputs[0], launch.threads);
}
void run_roll_reference(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<std::vector<cpu::CopyLoops>>())
        part.run_naive(launch.inputs[0], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cpu, Roll) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_roll, run_roll},
        {"reference", plain_layouts, prepare_roll, run_roll_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
