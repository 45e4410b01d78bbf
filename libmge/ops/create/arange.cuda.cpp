// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/create/arange.cuda.h"

namespace mge::ops {
namespace {

void run_arange(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Arange::Params>>();
    auto& y = problem.outputs[0];
    if (y.numel() == 0) return;
    cuda::fill_line(cuda::stream_of(launch), launch.outputs[0], y.numel(), cuda::type_index(y.dtype),
                    problem.params.start, problem.params.step);
}

void run_linspace(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Linspace::Params>>();
    int64_t count = problem.outputs[0].numel();
    if (count == 0) return;
    auto end = [&](size_t i, double otherwise) -> cuda::LineEnd {
        if (i >= launch.inputs.size() || !launch.inputs[i]) return {otherwise, nullptr, 0};
        return {0, launch.inputs[i], cuda::type_index(problem.inputs[i].dtype)};
    };
    cuda::fill_line_between(cuda::stream_of(launch), launch.out<float>(0), count,
                            end(0, problem.params.start), end(1, problem.params.stop));
}

}  // namespace

KernelList kernels(Cuda, Arange) { return one_algorithm<copy_problem<Arange::Params>, run_arange>("line"); }
KernelList kernels(Cuda, Linspace) {
    return one_algorithm<copy_problem<Linspace::Params>, run_linspace>("line");
}

}  // namespace mge::ops
