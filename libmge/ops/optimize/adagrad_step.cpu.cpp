// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adagrad_step.h"

#include <cmath>

#include "libmge/ops/optimize/counted_step.cpu.h"

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

struct Method {
    using Op = AdagradStep;
    static constexpr int count_in = 3, count_out = 2;
    static constexpr int64_t nanoseconds = 2;
    static Factors factors(const Op::Params& p, const Launch& launch, float count) {
        float rate = launch.in<float>(4)[0] / (1 + (count - 1) * float(p.lr_decay));
        return {rate, float(p.epsilon), float(p.weight_decay)};
    }
    static StepPart<Factors> part(const Op::Params& p) {
        return p.weight_decay != 0 ? step_part<true> : step_part<false>;
    }
};

}  // namespace

KernelList kernels(Cpu, AdagradStep) { return counted_step_kernels<Method>(); }

}  // namespace mge::ops
