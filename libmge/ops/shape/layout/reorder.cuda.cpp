// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/reorder.h"

#include "libmge/device/queue.h"
#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "libmge/ops/shape/layout/reorder_plan.h"

namespace mge::ops {
namespace {

struct Copies {
    std::vector<cuda::CopyPlan> parts;
    size_t zeroed;
};

Prepared prepare_copies(const PrepareContext& context) {
    auto plan = plan_reorder(context.problem);
    return Prepared::make(Copies{{plan.copies.begin(), plan.copies.end()}, plan.zeroed});
}

void run_copies(const Prepared& prepared, const Launch& launch) {
    auto& copies = prepared.state<Copies>();
    if (copies.zeroed) launch.queue->fill(launch.outputs[0], 0, copies.zeroed);
    for (auto& part : copies.parts) part.run(launch, launch.inputs[0], launch.outputs[0]);
}

constexpr Algorithm list[] = {{"strided", supports_reorder_plan, prepare_copies, run_copies}};

}  // namespace

KernelList kernels(Cuda, Reorder) { return list; }

}  // namespace mge::ops
