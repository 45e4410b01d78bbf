// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_steps.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/optimize/adadelta_step.h"
#include "libmge/ops/optimize/adagrad_step.h"
#include "libmge/ops/optimize/adam_step.h"
#include "libmge/ops/optimize/lamb_step.h"
#include "libmge/ops/optimize/sgd_step.h"

namespace mge::ops {
namespace {

// The first inputs and outputs are those of the formula; then come the count of steps, if there is one, and
// the learning rate.
cuda::StepArrays arrays_of(const Launch& launch, int64_t count, size_t operands, size_t results,
                           bool is_counted) {
    cuda::StepArrays arrays{.count = count};
    for (size_t i = 0; i < operands; ++i) arrays.operands[i] = launch.in<float>(i);
    for (size_t i = 0; i < results; ++i) arrays.results[i] = launch.out<float>(i);
    if (is_counted) {
        arrays.step = launch.in<float>(operands);
        arrays.new_step = launch.out<float>(results);
    }
    arrays.lr = launch.in<float>(operands + is_counted);
    return arrays;
}

void run_sgd(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<SgdStep::Params>>();
    auto& p = problem.params;
    auto arrays = arrays_of(launch, problem.inputs[0].numel(), 3, p.momentum != 0 ? 2 : 1, false);
    cuda::sgd_step(cuda::stream_of(launch), arrays,
                   {.momentum = float(p.momentum),
                    .weight_decay = float(p.weight_decay),
                    .has_velocity = arrays.operands[2] != nullptr,
                    .nesterov = p.nesterov});
}

void run_adam(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdamStep::Params>>();
    auto& p = problem.params;
    cuda::adam_step(cuda::stream_of(launch), arrays_of(launch, problem.inputs[0].numel(), 4, 3, true),
                    {.beta1 = p.beta1,
                     .beta2 = p.beta2,
                     .epsilon = float(p.epsilon),
                     .weight_decay = float(p.weight_decay),
                     .decoupled = p.decoupled});
}

void run_adagrad(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdagradStep::Params>>();
    auto& p = problem.params;
    cuda::adagrad_step(
        cuda::stream_of(launch), arrays_of(launch, problem.inputs[0].numel(), 3, 2, true),
        {.lr_decay = float(p.lr_decay), .epsilon = float(p.epsilon), .weight_decay = float(p.weight_decay)});
}

void run_adadelta(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<AdadeltaStep::Params>>();
    auto& p = problem.params;
    cuda::adadelta_step(cuda::stream_of(launch), arrays_of(launch, problem.inputs[0].numel(), 4, 3, true),
                        {.rho = float(p.rho),
                         .rest = float(1 - p.rho),
                         .epsilon = float(p.epsilon),
                         .weight_decay = float(p.weight_decay)});
}

Prepared prepare_lamb(const PrepareContext& context) {
    ProblemState<LambStep::Params> problem(context.problem);
    size_t workspace = cuda::lamb_workspace(problem.inputs[0].numel());
    return Prepared::make(std::move(problem), workspace);
}

void run_lamb(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<LambStep::Params>>();
    auto& p = problem.params;
    cuda::lamb_step(cuda::stream_of(launch), arrays_of(launch, problem.inputs[0].numel(), 4, 3, true),
                    {.beta1 = p.beta1,
                     .beta2 = p.beta2,
                     .epsilon = float(p.epsilon),
                     .weight_decay = float(p.weight_decay),
                     .bias_correction = p.bias_correction,
                     .is_fitted = p.weight_decay != 0 || p.always_adapt},
                    launch.workspace);
}

template <class Op, auto run>
constexpr Algorithm one_pass[] = {{"one_pass", plain_layouts, copy_problem<typename Op::Params>, run}};
constexpr Algorithm two_passes[] = {{"two_passes", plain_layouts, prepare_lamb, run_lamb}};

}  // namespace

KernelList kernels(Cuda, SgdStep) { return one_pass<SgdStep, run_sgd>; }
KernelList kernels(Cuda, AdamStep) { return one_pass<AdamStep, run_adam>; }
KernelList kernels(Cuda, AdagradStep) { return one_pass<AdagradStep, run_adagrad>; }
KernelList kernels(Cuda, AdadeltaStep) { return one_pass<AdadeltaStep, run_adadelta>; }
KernelList kernels(Cuda, LambStep) { return two_passes; }

}  // namespace mge::ops
