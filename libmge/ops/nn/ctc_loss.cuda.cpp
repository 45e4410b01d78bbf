// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/ctc_loss.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/ctc_loss.cuda.h"

namespace mge::ops {
namespace {

cuda::Ctc ctc_of(const Problem& problem) {
    auto &x = problem.inputs[0].shape, &labels = problem.inputs[2].shape;
    return {.steps = x[0],
            .samples = x[1],
            .classes = x[2],
            .labels = labels.numel(),
            .label_row = labels.rank() == 2 ? labels[1] : 0,
            .blank = problem.as<CtcLoss::Params>().blank};
}
cuda::CtcInputs inputs_of(const Launch& launch) {
    return {launch.in<float>(0), launch.in<int32_t>(1), launch.in<int32_t>(2), launch.in<int32_t>(3)};
}

Prepared prepare(const PrepareContext& context) {
    cuda::Ctc ctc = ctc_of(context.problem);
    return Prepared::make(ctc, ctc.forward_workspace());
}
void run(const Prepared& prepared, const Launch& launch) {
    auto& ctc = prepared.state<cuda::Ctc>();
    if (ctc.samples == 0) return;
    cuda::ctc_loss(cuda::stream_of(launch), ctc, inputs_of(launch), launch.out<float>(0),
                   static_cast<double*>(launch.workspace));
}

Prepared prepare_backward(const PrepareContext& context) {
    cuda::Ctc ctc = ctc_of(context.problem);
    return Prepared::make(ctc, ctc.backward_workspace());
}
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& ctc = prepared.state<cuda::Ctc>();
    int64_t elements = ctc.steps * ctc.samples * ctc.classes;
    if (elements == 0) return;
    launch.queue->fill(launch.outputs[0], 0, size_t(elements) * sizeof(float));
    cuda::ctc_loss_backward(cuda::stream_of(launch), ctc, inputs_of(launch), launch.in<float>(4),
                            launch.out<float>(0), static_cast<double*>(launch.workspace));
}

}  // namespace

KernelList kernels(Cuda, CtcLoss) {
    // A measurement's made-up lengths are refused.
    return one_algorithm<prepare, run>("forward_backward", {.unmeasured = true});
}
KernelList kernels(Cuda, CtcLossBackward) {
    // A measurement's made-up lengths are refused.
    return one_algorithm<prepare_backward, run_backward>("forward_backward", {.unmeasured = true});
}

}  // namespace mge::ops
