// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/take_channels.h"
#include "libmge/kernel/cuda/copy/copy_plan.h"

namespace mge::ops {
namespace {

struct RunCopy {
    size_t input;
    cuda::CopyPlan plan;
};

Prepared prepare_copies(const PrepareContext& context) {
    std::vector<RunCopy> copies;
    for (auto& part : plan_channel_copies(context.problem))
        copies.push_back({part.input, cuda::CopyPlan(part.copy)});
    return Prepared::make(std::move(copies));
}

void run_copies(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<std::vector<RunCopy>>())
        part.plan.run(launch, launch.inputs[part.input], launch.outputs[0]);
}

constexpr Algorithm list[] = {{"strided", supports_channel_copies, prepare_copies, run_copies}};

}  // namespace

KernelList kernels(Cuda, TakeChannels) { return list; }

}  // namespace mge::ops
