// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_steps.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/optimize/adadelta_step.h"
#include "libmge/ops/optimize/adagrad_step.h"
#include "libmge/ops/optimize/adam_step.h"
#include "libmge/ops/optimize/sgd_step.h"

namespace mge {
namespace {

void run_sgd(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ops::SgdStep::Params>>();
    auto& p = problem.params;
    cuda::sgd_step(cuda::stream_of(launch), {.count = problem.inputs[0].numel(),
                                             .param = launch.in<float>(0),
                                             .grad = launch.in<float>(1),
                                             .velocity = launch.in<float>(2),
                                             .lr = launch.in<float>(3),
                                             .new_param = launch.out<float>(0),
                                             .new_velocity = p.momentum != 0 ? launch.out<float>(1) : nullptr,
                                             .momentum = float(p.momentum),
                                             .weight_decay = float(p.weight_decay),
                                             .nesterov = p.nesterov});
}

void run_adam(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ops::AdamStep::Params>>();
    auto& p = problem.params;
    cuda::adam_step(cuda::stream_of(launch), {.count = problem.inputs[0].numel(),
                                              .param = launch.in<float>(0),
                                              .grad = launch.in<float>(1),
                                              .mean = launch.in<float>(2),
                                              .square = launch.in<float>(3),
                                              .step = launch.in<float>(4),
                                              .lr = launch.in<float>(5),
                                              .new_param = launch.out<float>(0),
                                              .new_mean = launch.out<float>(1),
                                              .new_square = launch.out<float>(2),
                                              .new_step = launch.out<float>(3),
                                              .beta1 = p.beta1,
                                              .beta2 = p.beta2,
                                              .epsilon = float(p.epsilon),
                                              .weight_decay = float(p.weight_decay),
                                              .decoupled = p.decoupled});
}

void run_adagrad(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ops::AdagradStep::Params>>();
    auto& p = problem.params;
    cuda::adagrad_step(cuda::stream_of(launch), {.count = problem.inputs[0].numel(),
                                                 .param = launch.in<float>(0),
                                                 .grad = launch.in<float>(1),
                                                 .sum = launch.in<float>(2),
                                                 .step = launch.in<float>(3),
                                                 .lr = launch.in<float>(4),
                                                 .new_param = launch.out<float>(0),
                                                 .new_sum = launch.out<float>(1),
                                                 .new_step = launch.out<float>(2),
                                                 .lr_decay = float(p.lr_decay),
                                                 .epsilon = float(p.epsilon),
                                                 .weight_decay = float(p.weight_decay)});
}

void run_adadelta(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ops::AdadeltaStep::Params>>();
    auto& p = problem.params;
    cuda::adadelta_step(cuda::stream_of(launch), {.count = problem.inputs[0].numel(),
                                                  .param = launch.in<float>(0),
                                                  .grad = launch.in<float>(1),
                                                  .square = launch.in<float>(2),
                                                  .delta = launch.in<float>(3),
                                                  .step = launch.in<float>(4),
                                                  .lr = launch.in<float>(5),
                                                  .new_param = launch.out<float>(0),
                                                  .new_square = launch.out<float>(1),
                                                  .new_delta = launch.out<float>(2),
                                                  .new_step = launch.out<float>(3),
                                                  .rho = float(p.rho),
                                                  .rest = float(1 - p.rho),
                                                  .epsilon = float(p.epsilon),
                                                  .weight_decay = float(p.weight_decay)});
}

}  // namespace

template <>
KernelList kernels(Cuda, ops::SgdStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<ops::SgdStep::Params>, run_sgd}};
    return list;
}
template <>
KernelList kernels(Cuda, ops::AdamStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<ops::AdamStep::Params>, run_adam}};
    return list;
}
template <>
KernelList kernels(Cuda, ops::AdagradStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<ops::AdagradStep::Params>, run_adagrad}};
    return list;
}
template <>
KernelList kernels(Cuda, ops::AdadeltaStep) {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<ops::AdadeltaStep::Params>, run_adadelta}};
    return list;
}

}  // namespace mge
