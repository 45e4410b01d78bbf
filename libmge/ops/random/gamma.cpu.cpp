// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/gamma.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/trials.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

// One number takes little more than one trial.
constexpr int64_t nanoseconds_per_trial = 64;

template <RandomStream stream, class Number>
void run_pairs(const Prepared& prepared, const Launch& launch) {
    int64_t count = prepared.state<int64_t>();
    auto *a = launch.in<float>(1), *b = launch.in<float>(2);
    float* y = launch.out<float>(0);
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(stream));
    par_for(launch.threads, count, parallel_grain / nanoseconds_per_trial, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            trials::ElementDraws draw(blocks, i);
            y[i] = float(Number()(a[i], b[i], draw));
        }
    });
}

Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}

}  // namespace

KernelList kernels(Cpu, Gamma) {
    static constexpr Algorithm list[] = {{"marsaglia_tsang", plain_layouts, prepare_count,
                                          run_pairs<RandomStream::gamma, trials::GammaNumber>}};
    return list;
}
KernelList kernels(Cpu, Beta) {
    static constexpr Algorithm list[] = {
        {"two_gammas", plain_layouts, prepare_count, run_pairs<RandomStream::beta, trials::BetaNumber>}};
    return list;
}

}  // namespace mge::ops
