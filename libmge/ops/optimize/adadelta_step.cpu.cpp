// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adadelta_step.h"

#include <cmath>

#include "libmge/ops/optimize/counted_step.cpu.h"

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

struct Method {
    using Op = AdadeltaStep;
    static constexpr int count_in = 4, count_out = 3;
    static constexpr int64_t nanoseconds = 3;
    static Factors factors(const Op::Params& p, const Launch& launch, float) {
        return {launch.in<float>(5)[0], float(p.rho), float(1 - p.rho), float(p.epsilon),
                float(p.weight_decay)};
    }
    static StepPart<Factors> part(const Op::Params& p) {
        return p.weight_decay != 0 ? step_part<true> : step_part<false>;
    }
};

}  // namespace

KernelList kernels(Cpu, AdadeltaStep) { return counted_step_kernels<Method>(); }

}  // namespace mge::ops
