// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/nms.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/nms.cuda.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem.as<Nms::Params>();
    int64_t boxes = context.problem.inputs[0].shape[0];
    return Prepared::make(cuda::Suppression{boxes, p.max_output, p.threshold},
                          cuda::SuppressionWork::bytes(boxes));
}

// Waits, since the host has to know how many there are.
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<cuda::Suppression>();
    int32_t count = 0;
    auto work = cuda::SuppressionWork::in(launch.workspace, s.boxes);
    if (s.boxes > 0) {
        cuda::suppress(cuda::stream_of(launch), s, launch.in<float>(0), launch.in<float>(1), work);
        launch.queue->copy_to_host(&count, work.count, sizeof count);
    }
    void* indices = launch.allocator->allocate(0, {DType::i32, {count}, {}});
    if (count > 0) launch.queue->copy(indices, work.kept, size_t(count) * sizeof(int32_t));
}

}  // namespace

KernelList kernels(Cuda, Nms) { return one_algorithm<prepare, run>("greedy"); }

}  // namespace mge::ops
