// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adam_step.h"

#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct Factors {
    float beta1, beta2, epsilon, weight_decay, lr;
    float correction1, correction2;  // 1 / (1 - beta^step)
};

template <bool decoupled>
void step_part(const Factors& f, const Launch& launch, int64_t begin, int64_t end) {
    auto *param = launch.in<float>(0), *grad = launch.in<float>(1), *mean = launch.in<float>(2),
         *square = launch.in<float>(3);
    float *y = launch.out<float>(0), *new_mean = launch.out<float>(1), *new_square = launch.out<float>(2);
    for (int64_t i = begin; i < end; ++i) {
        float p = param[i], g = decoupled ? grad[i] : grad[i] + f.weight_decay * p;
        float m = f.beta1 * mean[i] + (1 - f.beta1) * g;
        float s = f.beta2 * square[i] + (1 - f.beta2) * g * g;
        float delta = m * f.correction1 / (std::sqrt(s * f.correction2) + f.epsilon);
        if (decoupled) delta += f.weight_decay * p;
        y[i] = p - f.lr * delta;
        new_mean[i] = m;
        new_square[i] = s;
    }
}

void run_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdamStep::Params>>();
    auto& p = problem.params;
    float step = launch.in<float>(4)[0] + 1;
    Factors factors{float(p.beta1),
                    float(p.beta2),
                    float(p.epsilon),
                    float(p.weight_decay),
                    launch.in<float>(5)[0],
                    float(1 / (1 - std::pow(p.beta1, double(step)))),
                    float(1 / (1 - std::pow(p.beta2, double(step))))};
    auto* method = p.decoupled ? &step_part<true> : &step_part<false>;
    constexpr int64_t nanoseconds_per_element = 2;
    par_for(launch.threads, problem.inputs[0].numel(), parallel_grain / nanoseconds_per_element,
            [&](int64_t begin, int64_t end) { method(factors, launch, begin, end); });
    launch.out<float>(3)[0] = step;
}

}  // namespace

KernelList kernels(Cpu, AdamStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<AdamStep::Params>, run_step}};
    return list;
}

}  // namespace mge::ops
