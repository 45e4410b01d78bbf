// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/arg_extreme.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/reduce/prepare_reduce.cuda.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {
namespace {

template <class O>
Prepared prepare(const PrepareContext& context) {
    static const auto kernels = cuda::reduce_kernels<O>();
    auto& p = context.problem;
    auto reduced = reduced_axes(p.op, {p.as<ArgParams>().axis}, p.inputs[0].shape.rank());
    return prepare_cuda_reduction(p, p.inputs[0].shape, reduced, kernels);
}

template <class O>
constexpr Algorithm algorithms[] = {{"groups", plain_layouts, prepare<O>, run_cuda_reduction}};

}  // namespace

KernelList kernels(Cuda, Argmax) { return algorithms<Argmax>; }
KernelList kernels(Cuda, Argmin) { return algorithms<Argmin>; }

}  // namespace mge::ops
