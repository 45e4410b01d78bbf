// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithm of elementwise operators on a GPU. Their kernels come from the line of each in its group's
// .cuda.cu.

#include <cstring>

#include "libmge/kernel/cuda/elementwise.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/loop_nest.h"
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct CudaElementwise {
    cuda::ElementwiseKernel run = nullptr;
    cuda::ElementwiseArguments arguments{};
};

// `params` are the functor's members in their order.
CudaElementwise prepare_cuda_elementwise(const Problem& problem, cuda::ElementwiseKernel run,
                                         const void* params, size_t params_bytes);
void run_cuda_elementwise(const Prepared& prepared, const Launch& launch);
Support supports_cuda_elementwise(const Problem& problem);

template <ElementwiseOp O>
Prepared prepare_on_gpu(const PrepareContext& context) {
    auto& p = context.problem;
    auto kernel = cuda::Elementwise<O>::kernels.by_type[cuda::type_index(p.inputs[0].dtype)];
    return Prepared::make(prepare_cuda_elementwise(p, kernel, p.params, sizeof(typename O::Params)));
}

template <ElementwiseOp O>
KernelList elementwise_kernels_of_gpus() {
    static constexpr Algorithm list[] = {
        {"elementwise", supports_cuda_elementwise, prepare_on_gpu<O>, run_cuda_elementwise}};
    return list;
}

}  // namespace mge::ops
