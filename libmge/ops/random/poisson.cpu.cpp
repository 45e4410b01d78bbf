// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/poisson.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/trials.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

constexpr int64_t nanoseconds_per_number = 64;

Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}

void run_poisson(const Prepared& prepared, const Launch& launch) {
    int64_t count = prepared.state<int64_t>();
    auto* mean = launch.in<float>(1);
    float* y = launch.out<float>(0);
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::poisson));
    par_for(launch.threads, count, parallel_grain / nanoseconds_per_number, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            trials::ElementDraws draw(blocks, i);
            y[i] = float(trials::PoissonNumber()(mean[i], draw));
        }
    });
}

}  // namespace

KernelList kernels(Cpu, Poisson) { return one_algorithm<prepare_count, run_poisson>("rejection"); }

}  // namespace mge::ops
