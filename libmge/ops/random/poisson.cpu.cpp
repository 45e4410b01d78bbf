// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/poisson.h"

#include <cmath>
#include <numbers>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/element_draws.cpu.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

constexpr int64_t nanoseconds_per_number = 64;
// Below it counting events is faster than trials, which are made for larger means.
constexpr double least_for_trials = 10;
// From here on the deviation is less than f32 can show.
constexpr double certain = 0x1p48;

// log(k!) by Stirling's series; small k, for which it is too coarse, are multiplied out.
double log_factorial(double k) {
    if (k < 10) {
        double product = 1;
        for (int i = 2; i <= int(k); ++i) product *= i;
        return std::log(product);
    }
    double r = 1 / k, r2 = r * r;
    return (k + 0.5) * std::log(k) - k + 0.5 * std::log(2 * std::numbers::pi) +
           r * (1. / 12 - r2 * (1. / 360 - r2 / 1260));
}

// Events with exponential distances, counted up to time `mean`: products of uniform numbers.
double counted_events(double mean, ElementDraws& draw) {
    double limit = std::exp(-mean), product = 1;
    for (double count = 0;; count += 4) {
        PhiloxWords words = draw();
        const unsigned bits[4] = {words.w0, words.w1, words.w2, words.w3};
        for (int i = 0; i < 4; ++i)
            if ((product *= open_uniform(bits[i])) <= limit) return count + i;
    }
}

// Hörmann, "The transformed rejection method for generating Poisson random variables" (1993): PTRS.
double transformed_rejection(double mean, ElementDraws& draw) {
    double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), least = 0.9277 - 3.6224 / (b - 2);
    double log_mean = std::log(mean);
    while (true) {
        PhiloxWords words = draw();
        double u = open_uniform(words.w0) - 0.5, v = open_uniform(words.w1), distance = 0.5 - std::abs(u);
        double k = std::floor((2 * a / distance + b) * u + mean + 0.43);
        if (distance >= 0.07 && v <= least) return k;
        if (k < 0 || (distance < 0.013 && v > distance)) continue;
        double density = k * log_mean - mean - log_factorial(k);
        if (std::log(v * inverse_alpha / (a / (distance * distance) + b)) <= density) return k;
    }
}

double poisson_number(double mean, ElementDraws& draw) {
    if (std::isnan(mean) || mean >= certain) return mean;
    if (mean <= 0) return 0;
    return mean < least_for_trials ? counted_events(mean, draw) : transformed_rejection(mean, draw);
}

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
            ElementDraws draw(blocks, i);
            y[i] = float(poisson_number(mean[i], draw));
        }
    });
}

}  // namespace

KernelList kernels(Cpu, Poisson) {
    static constexpr Algorithm list[] = {{"rejection", plain_layouts, prepare_count, run_poisson}};
    return list;
}

}  // namespace mge::ops
