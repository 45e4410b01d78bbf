// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reduce_to_shape.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/reduce/prepare_reduce.cuda.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    static const auto kernels = cuda::reduce_kernels<Sum>();
    auto &x = context.problem.inputs[0].shape, &y = context.problem.outputs[0].shape;
    std::array<bool, max_rank> reduced{};
    int added = x.rank() - y.rank();
    for (int axis = 0; axis < x.rank(); ++axis) reduced[size_t(axis)] = axis < added || y[axis - added] == 1;
    return prepare_cuda_reduction(context.problem, x, reduced, kernels);
}

}  // namespace

KernelList kernels(Cuda, ReduceToShape) { return one_algorithm<prepare, run_cuda_reduction>("groups"); }

}  // namespace mge::ops
