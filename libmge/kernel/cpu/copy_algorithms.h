// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms of operators that only copy input 0 to output 0 along other strides.

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge {

template <StridedCopy (*Plan)(const Problem&)>
Prepared prepare_strided(const PrepareContext& context) {
    return Prepared::make(cpu::CopyLoops(Plan(context.problem)));
}
inline void run_strided(const Prepared& prepared, const Launch& launch) {
    prepared.state<cpu::CopyLoops>().run(launch.inputs[0], launch.outputs[0], launch.threads);
}
inline void run_strided_reference(const Prepared& prepared, const Launch& launch) {
    prepared.state<cpu::CopyLoops>().run_naive(launch.inputs[0], launch.outputs[0]);
}

template <StridedCopy (*Plan)(const Problem&)>
KernelList copy_algorithms() {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_strided<Plan>, run_strided},
        {"reference", plain_layouts, prepare_strided<Plan>, run_strided_reference, {.naive = true}}};
    return list;
}

}  // namespace mge
