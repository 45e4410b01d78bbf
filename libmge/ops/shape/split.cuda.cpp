// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/split.h"

#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

using Parts = std::vector<cuda::CopyPlan>;

Prepared prepare_parts(const PrepareContext& context) {
    auto parts = plan_split(context.problem);
    return Prepared::make(Parts(parts.begin(), parts.end()));
}

void run_parts(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<Parts>();
    for (size_t i = 0; i < parts.size(); ++i) parts[i].run(launch, launch.inputs[0], launch.outputs[i]);
}

}  // namespace

KernelList kernels(Cuda, Split) { return one_algorithm<prepare_parts, run_parts>("strided"); }

}  // namespace mge::ops
