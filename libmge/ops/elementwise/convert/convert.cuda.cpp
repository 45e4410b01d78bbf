// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/elementwise/convert/convert.cuda.h"

namespace mge::ops {
namespace {

void run_convert(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<OwnedProblem>();
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    if (x.numel() == 0) return;
    cuda::convert(cuda::stream_of(launch), cuda::type_index(x.dtype), cuda::type_index(y.dtype),
                  launch.inputs[0], launch.outputs[0], x.numel());
}

Prepared prepare_convert(const PrepareContext& context) {
    return Prepared::make(OwnedProblem(context.problem));
}

}  // namespace

KernelList kernels(Cuda, Convert) { return one_algorithm<prepare_convert, run_convert>("elementwise"); }
KernelList kernels(Cuda, Copy) { return cuda::byte_copies; }

}  // namespace mge::ops
