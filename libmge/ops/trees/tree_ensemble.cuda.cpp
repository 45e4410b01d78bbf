// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/trees/tree_ensemble.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/throw_as_cpu.cuda.h"
#include "libmge/ops/trees/tree_ensemble.h"

namespace mge::ops {
namespace {

using State = ProblemState<TreeEnsemble::Params>;

Prepared prepare(const PrepareContext& context) {
    auto& y = context.problem.outputs[0];
    return Prepared::make(State(context.problem), sizeof(int) + size_t(y.numel()));
}

// Waits, to report invalid trees.
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::TreeArguments a{};
    a.rows = state.inputs[0].shape[0];
    if (a.rows == 0) return;
    a.columns = state.inputs[0].shape[1];
    a.nodes = state.inputs[1].shape[0];
    a.trees = state.inputs[6].shape[0];
    a.leaf_rows = state.inputs[7].shape[0];
    a.targets = state.params.targets;
    a.aggregate = int(state.params.aggregate);
    a.x = launch.in<float>(0);
    a.questions = launch.in<uint8_t>(1);
    a.features = launch.in<int32_t>(2);
    a.thresholds = launch.in<float>(3);
    a.children = launch.in<int32_t>(4);
    a.missing = launch.in<uint8_t>(5);
    a.roots = launch.in<int32_t>(6);
    a.leaves = launch.in<int32_t>(7);
    a.weights = launch.in<float>(8);
    a.y = launch.out<float>(0);
    a.fault = static_cast<int*>(launch.workspace);
    a.is_set = reinterpret_cast<uint8_t*>(a.fault + 1);
    launch.queue->fill(launch.workspace, 0, prepared.workspace());
    cuda::run_trees(cuda::stream_of(launch), a);
    throw_as_cpu_if(a.fault, TreeEnsemble::info, &state.params, state, launch);
}

}  // namespace

KernelList kernels(Cuda, TreeEnsemble) { return one_algorithm<prepare, run>("by_row"); }

}  // namespace mge::ops
