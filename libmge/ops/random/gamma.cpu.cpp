// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/gamma.h"

#include <cmath>
#include <numbers>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/element_draws.cpu.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

// One number takes little more than one trial.
constexpr int64_t nanoseconds_per_trial = 64;

double normal_number(unsigned first, unsigned second) {
    return std::sqrt(-2 * std::log(open_uniform(first))) *
           std::cos(2 * std::numbers::pi * open_uniform(second));
}

// The logarithm of a number with the gamma distribution of scale 1, because small shapes leave the range of
// floats: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
double log_gamma_number(double shape, ElementDraws& draw) {
    // gamma(shape) = gamma(shape + 1) * uniform^(1 / shape)
    bool is_raised = shape < 1;
    double d = (is_raised ? shape + 1 : shape) - 1. / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
        PhiloxWords words = draw();
        double x = normal_number(words.w0, words.w1), root = 1 + c * x;
        if (root <= 0) continue;
        double v = root * root * root, log_v = std::log(v);
        if (std::log(open_uniform(words.w2)) >= x * x / 2 + d - d * v + d * log_v) continue;
        return std::log(d) + log_v + (is_raised ? std::log(open_uniform(words.w3)) / shape : 0);
    }
}

double gamma_number(double shape, double scale, ElementDraws& draw) {
    if (std::isnan(shape) || std::isnan(scale)) return shape + scale;
    if (shape <= 0 || scale <= 0) return 0;
    if (std::isinf(shape)) return shape;
    return scale * std::exp(log_gamma_number(shape, draw));
}

double beta_number(double alpha, double beta, ElementDraws& draw) {
    if (std::isnan(alpha) || std::isnan(beta)) return alpha + beta;
    if (alpha <= 0 || beta <= 0) return 0;
    if (std::isinf(alpha) || std::isinf(beta)) return std::isinf(alpha) ? (std::isinf(beta) ? 0.5 : 1) : 0;
    // a / (a + b) with two gamma numbers
    double log_a = log_gamma_number(alpha, draw), log_b = log_gamma_number(beta, draw);
    return 1 / (1 + std::exp(log_b - log_a));
}

template <RandomStream stream, auto make>
void run_pairs(const Prepared& prepared, const Launch& launch) {
    int64_t count = prepared.state<int64_t>();
    auto *a = launch.in<float>(1), *b = launch.in<float>(2);
    float* y = launch.out<float>(0);
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(stream));
    par_for(launch.threads, count, parallel_grain / nanoseconds_per_trial, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            ElementDraws draw(blocks, i);
            y[i] = float(make(a[i], b[i], draw));
        }
    });
}

Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}

}  // namespace

KernelList kernels(Cpu, Gamma) {
    static constexpr Algorithm list[] = {
        {"marsaglia_tsang", plain_layouts, prepare_count, run_pairs<RandomStream::gamma, gamma_number>}};
    return list;
}
KernelList kernels(Cpu, Beta) {
    static constexpr Algorithm list[] = {
        {"two_gammas", plain_layouts, prepare_count, run_pairs<RandomStream::beta, beta_number>}};
    return list;
}

}  // namespace mge::ops
