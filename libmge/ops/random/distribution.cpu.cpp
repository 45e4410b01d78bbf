// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/distribution.h"

#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/philox_blocks.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

struct Range {
    int64_t count;
    float a, b;  // uniform: low, high; normal: mean, standard deviation
};

Prepared prepare_uniform(const PrepareContext& context) {
    auto& p = context.problem.as<Uniform::Params>();
    return Prepared::make(Range{context.problem.outputs[0].numel(), float(p.low), float(p.high)});
}
Prepared prepare_normal(const PrepareContext& context) {
    auto& p = context.problem.as<Normal::Params>();
    return Prepared::make(Range{context.problem.outputs[0].numel(), float(p.mean), float(p.std)});
}

void run_uniform(const Prepared& prepared, const Launch& launch) {
    auto [count, a, b] = prepared.state<Range>();
    float low = a, high = b;
    // Rounding may reach `high`, which is not included.
    float last = std::nextafter(high, low);
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::uniform));
    auto* y = launch.out<float>(0);
    blocks.for_pieces(launch.threads, count, [=](int64_t first, int64_t n, const uint32_t* bits) {
        for (int64_t i = 0; i < n; ++i)
            y[first + i] = std::min(low + philox_uniform(bits[i]) * (high - low), last);
    });
}

void run_normal(const Prepared& prepared, const Launch& launch) {
    auto [count, mean, deviation] = prepared.state<Range>();
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::normal));
    blocks.normal(launch.threads, count, mean, deviation, launch.out<float>(0));
}

}  // namespace

KernelList kernels(Cpu, Uniform) { return one_algorithm<prepare_uniform, run_uniform>("philox"); }
KernelList kernels(Cpu, Normal) { return one_algorithm<prepare_normal, run_normal>("philox"); }

}  // namespace mge::ops
