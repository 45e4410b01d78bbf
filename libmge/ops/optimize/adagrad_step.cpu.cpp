// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adagrad_step.h"

#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct Factors {
    float rate, epsilon, weight_decay;
};

template <bool decays>
void step_part(const Factors& f, const Launch& launch, int64_t begin, int64_t end) {
    auto *param = launch.in<float>(0), *grad = launch.in<float>(1), *sum = launch.in<float>(2);
    float *y = launch.out<float>(0), *new_sum = launch.out<float>(1);
    for (int64_t i = begin; i < end; ++i) {
        float p = param[i], g = decays ? grad[i] + p * f.weight_decay : grad[i];
        float s = sum[i] + g * g;
        y[i] = p - f.rate * (g / std::sqrt(s + f.epsilon));
        new_sum[i] = s;
    }
}

void run_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdagradStep::Params>>();
    auto& p = problem.params;
    float step = launch.in<float>(3)[0] + 1;
    float rate = launch.in<float>(4)[0] / (1 + (step - 1) * float(p.lr_decay));
    Factors factors{rate, float(p.epsilon), float(p.weight_decay)};
    auto* method = p.weight_decay != 0 ? &step_part<true> : &step_part<false>;
    constexpr int64_t nanoseconds_per_element = 2;
    par_for(launch.threads, problem.inputs[0].numel(), parallel_grain / nanoseconds_per_element,
            [&](int64_t begin, int64_t end) { method(factors, launch, begin, end); });
    launch.out<float>(2)[0] = step;
}

}  // namespace

KernelList kernels(Cpu, AdagradStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<AdagradStep::Params>, run_step}};
    return list;
}

}  // namespace mge::ops
