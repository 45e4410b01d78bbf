// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/where.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/loop_nest.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/elementwise/where.cuda.h"

namespace mge::ops {
namespace {

struct State {
    int size;
    cuda::WhereArguments arguments;
};

Prepared prepare_where(const PrepareContext& context) {
    auto& problem = context.problem;
    LoopNest nest = make_loop_nest(problem.inputs, problem.outputs[0]);
    State made{int(size_of(problem.outputs[0].dtype)), {}};
    auto& x = made.arguments;
    x.runs_along = nest.loops == 1;
    auto stride = [&](size_t input, int loop) {
        return nest.in_stride[input][size_t(loop)] / int64_t(size_of(problem.inputs[input].dtype));
    };
    for (int loop = nest.loops - 1; loop >= 0; --loop)
        x.space.add(nest.extent[size_t(loop)], {stride(0, loop), stride(1, loop), stride(2, loop)});
    x.space.numel = problem.outputs[0].numel();
    x.space.close();
    for (int i = 0; i < 3; ++i) {
        x.step[i] = int(x.space.stride[i][0]);
        x.runs_along = x.runs_along && (x.step[i] == 0 || x.step[i] == 1);
    }
    return Prepared::make(made);
}

void run_where(const Prepared& prepared, const Launch& launch) {
    auto& made = prepared.state<State>();
    if (made.arguments.space.numel == 0) return;
    cuda::WhereArguments arguments = made.arguments;
    arguments.mask = launch.in<uint8_t>(0);
    arguments.yes = launch.inputs[1];
    arguments.no = launch.inputs[2];
    arguments.y = launch.outputs[0];
    cuda::where(cuda::stream_of(launch), made.size, arguments);
}

}  // namespace

KernelList kernels(Cuda, Where) { return one_algorithm<prepare_where, run_where>("elementwise"); }

}  // namespace mge::ops
