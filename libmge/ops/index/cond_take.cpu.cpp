// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/cond_take.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

void run_scan(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<CondTake::Params>>();
    auto& x = problem.inputs[0];
    int64_t n = x.numel();
    auto* mask = launch.in<uint8_t>(1);
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += mask[i] != 0;
    void* values = launch.allocator->allocate(0, {x.dtype, {count}, {}});
    auto* indices = static_cast<int32_t*>(launch.allocator->allocate(1, {DType::i32, {count}, {}}));
    dispatch_size(x.dtype, [&]<class T>(std::type_identity<T>) {
        auto* to = static_cast<T*>(values);
        for (int64_t i = 0, k = 0; k < count; ++i)
            if (mask[i]) {
                to[k] = launch.in<T>(0)[i];
                indices[k++] = int32_t(i);
            }
    });
}

}  // namespace

KernelList kernels(Cpu, CondTake) {
    return one_algorithm<copy_problem<CondTake::Params>, run_scan>("reference");
}

}  // namespace mge::ops
