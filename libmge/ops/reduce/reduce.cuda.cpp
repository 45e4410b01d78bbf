// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.h"

#include "libmge/kernel/cuda/reduce/plan_reduction.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/reduce/prepare_reduce.cuda.h"

namespace mge::ops {
namespace {

struct CudaReduction {
    cuda::ReduceKernel run = nullptr;
    cuda::ReduceArguments arguments{};
};

template <class O>
Prepared prepare(const PrepareContext& context) {
    static const auto kernels = cuda::reduce_kernels<O>();
    auto& p = context.problem;
    auto reduced = reduced_axes(p.op, p.as<ReduceParams>().axes, p.inputs[0].shape.rank());
    return prepare_cuda_reduction(p, p.inputs[0].shape, reduced, kernels, std::is_same_v<O, Mean>);
}

template <class O>
constexpr Algorithm algorithms[] = {{"groups", plain_layouts, prepare<O>, run_cuda_reduction}};

}  // namespace

Prepared prepare_cuda_reduction(const Problem& problem, const Shape& x,
                                const std::array<bool, max_rank>& reduced, const cuda::ReduceKernels& kernels,
                                bool is_mean) {
    DType dtype = problem.inputs[0].dtype;
    CudaReduction made{kernels.by_type[cuda::type_index(dtype)], {}};
    MGE_CHECK(made.run, problem.op, " on ", dtype);
    auto& geometry = made.arguments.geometry;
    geometry = cuda::plan_reduction(x, reduced, int(cuda::pack_bytes / size_of(dtype)));
    made.arguments.x_type = cuda::type_index(dtype);
    made.arguments.y_type = cuda::type_index(problem.outputs[0].dtype);
    made.arguments.divisor = is_mean ? double(geometry.length) : 1;
    return Prepared::make(made, cuda::reduction_workspace(geometry, cuda::most_total_bytes));
}

void run_cuda_reduction(const Prepared& prepared, const Launch& launch) {
    auto& made = prepared.state<CudaReduction>();
    if (made.arguments.geometry.outputs == 0) return;
    cuda::ReduceArguments arguments = made.arguments;
    arguments.x = launch.inputs[0];
    arguments.y = launch.outputs[0];
    arguments.workspace = launch.workspace;
    made.run(cuda::stream_of(launch), arguments);
}

KernelList kernels(Cuda, Max) { return algorithms<Max>; }
KernelList kernels(Cuda, Mean) { return algorithms<Mean>; }
KernelList kernels(Cuda, Min) { return algorithms<Min>; }
KernelList kernels(Cuda, Prod) { return algorithms<Prod>; }
KernelList kernels(Cuda, Sum) { return algorithms<Sum>; }

}  // namespace mge::ops
