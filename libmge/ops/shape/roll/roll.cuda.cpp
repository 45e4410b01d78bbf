// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/roll/roll.h"

#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

using RolledParts = std::vector<cuda::CopyPlan>;

Prepared prepare_roll(const PrepareContext& context) {
    auto parts = plan_roll(context.problem);
    return Prepared::make(RolledParts(parts.begin(), parts.end()));
}

void run_roll(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<RolledParts>()) part.run(launch, launch.inputs[0], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cuda, Roll) { return one_algorithm<prepare_roll, run_roll>("strided"); }

}  // namespace mge::ops
