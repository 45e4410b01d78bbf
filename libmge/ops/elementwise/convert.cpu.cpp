// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Convert::Params>>();
    dispatch_dtype(problem.inputs[0].dtype, AllTypes{}, [&](auto from) {
        using From = typename decltype(from)::type;
        dispatch_dtype(problem.outputs[0].dtype, AllTypes{}, [&](auto to) {
            using To = typename decltype(to)::type;
            for (int64_t i = 0, n = problem.outputs[0].numel(); i < n; ++i)
                launch.out<To>(0)[i] = To(float(launch.in<From>(0)[i]));
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Convert) {
    static constexpr Algorithm list[] = {
        {"reference", always, copy_problem<Convert::Params>, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
