// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/reorder.h"

#include <cstring>

#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/ops/shape/layout/reorder_onednn.h"
#include "libmge/ops/shape/layout/reorder_plan.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// --- reference: element by element ---

struct ReferenceState {
    TensorSpec x;
    ElementPlaces from, to;
    size_t y_bytes;
};

Prepared prepare_reference(const PrepareContext& context) {
    auto &x = context.problem.inputs[0], &y = context.problem.outputs[0];
    return Prepared::make(ReferenceState{x, *places_of(x), *places_of(y), y.bytes()});
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<ReferenceState>();
    std::memset(launch.outputs[0], 0, s.y_bytes);
    dispatch_size(s.x.dtype, [&]<class T>(std::type_identity<T>) {
        for (int64_t element = 0; element < s.x.numel(); ++element) {
            int64_t rest = element, from = 0, to = 0;
            for (int i = s.x.shape.rank() - 1; i >= 0; --i) {
                from += s.from[size_t(i)].at(rest % s.x.shape[i]);
                to += s.to[size_t(i)].at(rest % s.x.shape[i]);
                rest /= s.x.shape[i];
            }
            launch.out<T>(0)[to] = launch.in<T>(0)[from];
        }
    });
}

// --- strided: a few copies ---

struct CopyState {
    std::vector<cpu::CopyLoops> copies;
    size_t zeroed = 0;
};

Prepared prepare_strided(const PrepareContext& context) {
    ReorderPlan plan = plan_reorder(context.problem);
    return Prepared::make(CopyState{cpu::loops_of(plan.copies), plan.zeroed});
}

void run_strided(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<CopyState>();
    if (state.zeroed) std::memset(launch.outputs[0], 0, state.zeroed);
    for (auto& copy : state.copies) copy.run(launch.inputs[0], launch.outputs[0], launch.threads);
}

}  // namespace

KernelList kernels(Cpu, Reorder) {
    static const Algorithm list[] = {
        onednn_reorder(),
        {"strided", supports_reorder_plan, prepare_strided, run_strided},
        {"reference", has_places, prepare_reference, run_reference, {.naive = true}},
    };
    return list;
}

}  // namespace mge::ops
