// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/cond_take.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/cond_take.cuda.h"

namespace mge::ops {
namespace {

struct Taking {
    int64_t n;
    DType dtype;
};

Prepared prepare_taking(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    size_t workspace = size_t(cuda::mask_parts(x.numel()) + 1) * sizeof(int64_t);
    return Prepared::make(Taking{x.numel(), x.dtype}, workspace);
}

// How much memory is needed the host knows only when all elements were counted.
void run_taking(const Prepared& prepared, const Launch& launch) {
    auto& [n, dtype] = prepared.state<Taking>();
    auto* before = static_cast<int64_t*>(launch.workspace);
    int64_t count = 0;
    if (n) {
        cuda::count_held(cuda::stream_of(launch), launch.in<bool>(1), n, before);
        launch.queue->copy_to_host(&count, before + cuda::mask_parts(n), sizeof count);
    }
    void* values = launch.allocator->allocate(0, {dtype, {count}, {}});
    auto* indices = static_cast<int32_t*>(launch.allocator->allocate(1, {DType::i32, {count}, {}}));
    if (count)
        cuda::take_held(cuda::stream_of(launch), launch.in<bool>(1), n, before, size_of(dtype),
                        launch.inputs[0], values, indices);
}

}  // namespace

KernelList kernels(Cuda, CondTake) { return one_algorithm<prepare_taking, run_taking>("count_first"); }

}  // namespace mge::ops
