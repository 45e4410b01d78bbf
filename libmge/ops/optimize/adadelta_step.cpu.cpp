// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adadelta_step.h"

#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct Factors {
    float lr, rho, rest, epsilon, weight_decay;  // rest: 1 - rho
};

template <bool decays>
void step_part(const Factors& f, const Launch& launch, int64_t begin, int64_t end) {
    auto *param = launch.in<float>(0), *grad = launch.in<float>(1), *square = launch.in<float>(2),
         *delta = launch.in<float>(3);
    float *y = launch.out<float>(0), *new_square = launch.out<float>(1), *new_delta = launch.out<float>(2);
    for (int64_t i = begin; i < end; ++i) {
        float p = param[i], g = decays ? grad[i] + p * f.weight_decay : grad[i], a = delta[i];
        float s = square[i] * f.rho + g * g * f.rest;
        float d = std::sqrt(a + f.epsilon) / std::sqrt(s + f.epsilon) * g;
        y[i] = p - f.lr * d;
        new_square[i] = s;
        new_delta[i] = a * f.rho + d * d * f.rest;
    }
}

void run_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdadeltaStep::Params>>();
    auto& p = problem.params;
    float step = launch.in<float>(4)[0] + 1;
    Factors factors{launch.in<float>(5)[0], float(p.rho), float(1 - p.rho), float(p.epsilon),
                    float(p.weight_decay)};
    auto* method = p.weight_decay != 0 ? &step_part<true> : &step_part<false>;
    constexpr int64_t nanoseconds_per_element = 3;
    par_for(launch.threads, problem.inputs[0].numel(), parallel_grain / nanoseconds_per_element,
            [&](int64_t begin, int64_t end) { method(factors, launch, begin, end); });
    launch.out<float>(3)[0] = step;
}

}  // namespace

KernelList kernels(Cpu, AdadeltaStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<AdadeltaStep::Params>, run_step}};
    return list;
}

}  // namespace mge::ops
