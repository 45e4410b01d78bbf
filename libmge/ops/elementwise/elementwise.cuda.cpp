// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/elementwise.cuda.h"

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {

namespace {

using Space = cuda::IndexSpace<cuda::max_operands>;

Space elements_of(const Problem& problem) {
    Space space;
    LoopNest nest = make_loop_nest(problem.inputs, problem.outputs[0]);
    for (auto loop = size_t(nest.loops); loop-- > 0;) {
        auto stride = [&](size_t i) {
            return nest.in_stride[i][loop] / int64_t(size_of(problem.inputs[i].dtype));
        };
        space.add(nest.extent[loop], {stride(0), stride(problem.inputs.size() - 1)});
    }
    space.close();
    return space;
}

// By packs of so many elements; of none where the innermost axis has no whole ones, or a pack of an operand
// would not begin where its neighbour ends.
Space packs_of(const Space& elements, int size) {
    Space packs;
    packs.numel = 0;
    if (elements.axes < 2 || elements.extent[0] % size) return packs;
    auto& stride = elements.stride;
    for (int i = 0; i < cuda::max_operands; ++i)
        for (int axis = 1; stride[i][0] && axis < elements.axes; ++axis)
            if (stride[i][axis] % size) return packs;
    packs.numel = 1;
    packs.add(elements.extent[0] / size, {stride[0][0] * size, stride[1][0] * size});
    for (int axis = 1; axis < elements.axes; ++axis)
        packs.add(elements.extent[axis], {stride[0][axis], stride[1][axis]});
    packs.close();
    if (!packs.is_small) packs.numel = 0;
    return packs;
}

}  // namespace

Support supports_cuda_elementwise(const Problem& problem) { return plain_layouts(problem); }

CudaElementwise prepare_cuda_elementwise(const Problem& problem, cuda::ElementwiseKernel run,
                                         const void* params, size_t params_bytes) {
    MGE_CHECK(run, problem.op, " on ", problem.inputs[0].dtype);
    MGE_CHECK(params_bytes <= size_t(cuda::functor_bytes));
    CudaElementwise made{run, {}};
    auto& x = made.arguments;
    x.elements = elements_of(problem);
    x.packs = packs_of(x.elements, int(cuda::pack_bytes / size_of(problem.inputs[0].dtype)));
    // For plain tensors: 0 or 1 along the innermost axis.
    for (int i = 0; i < cuda::max_operands; ++i) x.runs_along[i] = int(x.elements.stride[i][0]);
    std::memcpy(x.functor, params, params_bytes);
    return made;
}

void run_cuda_elementwise(const Prepared& prepared, const Launch& launch) {
    auto& made = prepared.state<CudaElementwise>();
    if (made.arguments.elements.numel == 0) return;
    cuda::ElementwiseArguments arguments = made.arguments;
    arguments.in[0] = launch.inputs.front();
    arguments.in[1] = launch.inputs.back();
    arguments.out = launch.outputs[0];
    made.run(cuda::stream_of(launch), arguments);
}

}  // namespace mge::ops
