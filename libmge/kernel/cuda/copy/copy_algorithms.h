// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms of operators that only copy input 0 to output 0: along other strides, or as it is.

#include "libmge/device/queue.h"
#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::cuda {

template <StridedCopy (*Plan)(const Problem&)>
Prepared prepare_strided(const PrepareContext& context) {
    return Prepared::make(CopyPlan(Plan(context.problem)));
}
inline void run_strided(const Prepared& prepared, const Launch& launch) {
    prepared.state<CopyPlan>().run(launch, launch.inputs[0], launch.outputs[0]);
}

template <StridedCopy (*Plan)(const Problem&)>
KernelList copy_algorithms() {
    return one_algorithm<prepare_strided<Plan>, run_strided>("strided");
}

inline Prepared prepare_bytes(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].bytes());
}
inline void run_bytes(const Prepared& prepared, const Launch& launch) {
    if (launch.inputs[0] != launch.outputs[0])
        launch.queue->copy(launch.outputs[0], launch.inputs[0], prepared.state<size_t>());
}

inline constexpr Algorithm byte_copies[] = {{"bytes", plain_layouts, prepare_bytes, run_bytes}};

}  // namespace mge::cuda
