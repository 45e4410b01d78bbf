// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adam_step.h"

#include <cmath>

#include "libmge/ops/optimize/counted_step.cpu.h"

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

struct Method {
    using Op = AdamStep;
    static constexpr int count_in = 4, count_out = 3;
    static constexpr int64_t nanoseconds = 2;
    static Factors factors(const Op::Params& p, const Launch& launch, float count) {
        return {float(p.beta1),
                float(p.beta2),
                float(p.epsilon),
                float(p.weight_decay),
                launch.in<float>(5)[0],
                float(1 / (1 - std::pow(p.beta1, double(count)))),
                float(1 / (1 - std::pow(p.beta2, double(count))))};
    }
    static StepPart<Factors> part(const Op::Params& p) {
        return p.decoupled ? step_part<true> : step_part<false>;
    }
};

}  // namespace

KernelList kernels(Cpu, AdamStep) { return counted_step_kernels<Method>(); }

}  // namespace mge::ops
