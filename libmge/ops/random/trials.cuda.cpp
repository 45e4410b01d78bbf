// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/trials.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/gamma.h"
#include "libmge/ops/random/poisson.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}

template <RandomStream stream, auto draw, size_t parameters>
void run(const Prepared& prepared, const Launch& launch) {
    draw(cuda::stream_of(launch), {.state = launch.in<int32_t>(0),
                                   .random_stream = unsigned(stream),
                                   .count = prepared.state<int64_t>(),
                                   .a = launch.in<float>(1),
                                   .b = parameters > 1 ? launch.in<float>(2) : nullptr,
                                   .y = launch.out<float>(0)});
}

constexpr Algorithm gamma_kernels[] = {
    {"marsaglia_tsang", plain_layouts, prepare_count, run<RandomStream::gamma, cuda::draw_gamma, 2>}};
constexpr Algorithm beta_kernels[] = {
    {"two_gammas", plain_layouts, prepare_count, run<RandomStream::beta, cuda::draw_beta, 2>}};
constexpr Algorithm poisson_kernels[] = {
    {"rejection", plain_layouts, prepare_count, run<RandomStream::poisson, cuda::draw_poisson, 1>}};

}  // namespace

KernelList kernels(Cuda, Gamma) { return gamma_kernels; }
KernelList kernels(Cuda, Beta) { return beta_kernels; }
KernelList kernels(Cuda, Poisson) { return poisson_kernels; }

}  // namespace mge::ops
