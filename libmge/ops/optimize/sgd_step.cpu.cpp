// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/sgd_step.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct Step {
    int64_t count;
    float momentum, weight_decay;
    bool nesterov;
};

Prepared prepare_step(const PrepareContext& context) {
    auto& p = context.problem.as<SgdStep::Params>();
    return Prepared::make(
        Step{context.problem.inputs[0].numel(), float(p.momentum), float(p.weight_decay), p.nesterov});
}

void plain_step(const Step& step, const Launch& launch, int64_t begin, int64_t end) {
    auto *param = launch.in<float>(0), *grad = launch.in<float>(1);
    float lr = launch.in<float>(3)[0], *y = launch.out<float>(0);
    for (int64_t i = begin; i < end; ++i) y[i] = param[i] - lr * (grad[i] + step.weight_decay * param[i]);
}

template <bool has_velocity, bool nesterov>
void momentum_step(const Step& step, const Launch& launch, int64_t begin, int64_t end) {
    auto *param = launch.in<float>(0), *grad = launch.in<float>(1), *velocity = launch.in<float>(2);
    float lr = launch.in<float>(3)[0], momentum = step.momentum, decay = step.weight_decay;
    float *y = launch.out<float>(0), *new_velocity = launch.out<float>(1);
    for (int64_t i = begin; i < end; ++i) {
        float g = grad[i] + decay * param[i];
        float v = has_velocity ? momentum * velocity[i] + g : g;
        y[i] = param[i] - lr * (nesterov ? g + momentum * v : v);
        new_velocity[i] = v;
    }
}

void run_step(const Prepared& prepared, const Launch& launch) {
    auto& step = prepared.state<Step>();
    bool has_velocity = launch.inputs[2] != nullptr;
    auto* method = step.momentum == 0 ? &plain_step
                   : step.nesterov
                       ? (has_velocity ? &momentum_step<true, true> : &momentum_step<false, true>)
                       : (has_velocity ? &momentum_step<true, false> : &momentum_step<false, false>);
    par_for(launch.threads, step.count, parallel_grain,
            [&](int64_t begin, int64_t end) { method(step, launch, begin, end); });
}

}  // namespace

KernelList kernels(Cpu, SgdStep) {
    static constexpr Algorithm list[] = {{"one_pass", plain_layouts, prepare_step, run_step}};
    return list;
}

}  // namespace mge::ops
