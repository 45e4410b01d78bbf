// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/permutation.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/permutation.cuda.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

Prepared prepare_shuffle(const PrepareContext& context) {
    ProblemState<Permutation::Params> problem(context.problem);
    size_t workspace = size_t(problem.params.n) * sizeof(int32_t);
    return Prepared::make(std::move(problem), workspace);
}

void run_shuffle(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<ProblemState<Permutation::Params>>().params;
    if (p.n == 0) return;
    cuda::shuffle(cuda::stream_of(launch), cuda::type_index(p.dtype), launch.in<int32_t>(0),
                  unsigned(RandomStream::permutation), p.n, static_cast<int32_t*>(launch.workspace),
                  launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cuda, Permutation) { return one_algorithm<prepare_shuffle, run_shuffle>("windows"); }

}  // namespace mge::ops
