// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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
    blocks.fill(launch.threads, count, launch.out<float>(0), [=](const PhiloxWords& words, float(&y)[4]) {
        const unsigned bits[4] = {words.w0, words.w1, words.w2, words.w3};
        for (int i = 0; i < 4; ++i) y[i] = std::min(low + philox_uniform(bits[i]) * (high - low), last);
    });
}

// Two independent normal numbers from a point of the unit square (Box and Muller, 1958).
void box_muller(unsigned first, unsigned second, float mean, float deviation, float* y) {
    float radius = deviation * std::sqrt(-2 * std::log(philox_positive(first)));
    float angle = 2 * std::numbers::pi_v<float> * philox_uniform(second);
    y[0] = mean + radius * std::cos(angle);
    y[1] = mean + radius * std::sin(angle);
}

void run_normal(const Prepared& prepared, const Launch& launch) {
    auto [count, a, b] = prepared.state<Range>();
    float mean = a, deviation = b;
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::normal));
    blocks.fill(launch.threads, count, launch.out<float>(0), [=](const PhiloxWords& words, float(&y)[4]) {
        box_muller(words.w0, words.w1, mean, deviation, y);
        box_muller(words.w2, words.w3, mean, deviation, y + 2);
    });
}

}  // namespace

KernelList kernels(Cpu, Uniform) { return one_algorithm<prepare_uniform, run_uniform>("philox"); }
KernelList kernels(Cpu, Normal) { return one_algorithm<prepare_normal, run_normal>("philox"); }

}  // namespace mge::ops
