// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/elementwise.cuda.h"

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {

Support supports_cuda_elementwise(const Problem& problem) { return plain_layouts(problem); }

CudaElementwise prepare_cuda_elementwise(const Problem& problem, cuda::ElementwiseKernel run,
                                         const void* params, size_t params_bytes) {
    MGE_CHECK(run, problem.op, " on ", problem.inputs[0].dtype);
    MGE_CHECK(params_bytes <= size_t(cuda::functor_bytes));
    CudaElementwise made{run, {}};
    auto& x = made.arguments;
    LoopNest nest = make_loop_nest(problem.inputs, problem.outputs[0]);
    x.numel = problem.outputs[0].numel();
    x.loops = nest.loops;
    for (int loop = 0; loop < nest.loops; ++loop) {
        x.extent[loop] = nest.extent[size_t(loop)];
        for (size_t i = 0; i < problem.inputs.size(); ++i)
            x.stride[i][loop] = nest.in_stride[i][size_t(loop)] / int64_t(size_of(problem.inputs[i].dtype));
    }
    std::memcpy(x.functor, params, params_bytes);
    return made;
}

void run_cuda_elementwise(const Prepared& prepared, const Launch& launch) {
    auto& made = prepared.state<CudaElementwise>();
    if (made.arguments.numel == 0) return;
    cuda::ElementwiseArguments arguments = made.arguments;
    for (size_t i = 0; i < launch.inputs.size(); ++i) arguments.in[i] = launch.inputs[i];
    arguments.out = launch.outputs[0];
    made.run(cuda::stream_of(launch), arguments);
}

}  // namespace mge::ops
