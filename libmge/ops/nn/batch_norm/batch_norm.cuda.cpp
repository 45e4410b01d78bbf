// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/batch_norm/batch_norm.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/reduce/plan_reduction.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/batch_norm/batch_norm.cuda.h"

namespace mge::ops {
namespace {

struct State {
    cuda::BatchNorm norm{};
    DType dtype = DType::f32;
    bool training = true;

    size_t workspace() const { return cuda::reduction_workspace(norm.geometry, cuda::norm_total_bytes); }
};

State view(const TensorSpec& x, bool training) {
    State state;
    state.dtype = x.dtype;
    state.training = training;
    auto& norm = state.norm;
    norm.samples = x.shape[0];
    norm.channels = x.shape[1];
    norm.pixels = 1;
    for (int i = 2; i < x.shape.rank(); ++i) norm.pixels *= x.shape[i];
    norm.takes_batch = training && norm.samples * norm.pixels > 0;  // an empty batch says nothing
    norm.geometry = cuda::plan_reduction({norm.samples, norm.channels, norm.pixels}, {true, false, true},
                                         int(cuda::pack_bytes / size_of(x.dtype)));
    return state;
}

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<BatchNorm::Params>();
    State state = view(context.problem.inputs[0], params.training);
    state.norm.momentum = params.momentum;
    state.norm.epsilon = params.epsilon;
    return Prepared::make(state, state.workspace());
}

// Inputs x, scale, bias, running_mean, running_var; outputs y, new_mean, new_var, saved_mean, saved_inv_std.
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.norm.channels == 0) return;
    cuda::dispatch_device_type(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        cuda::BatchNormTensors<T> tensors{launch.in<T>(0),      launch.in<float>(1),  launch.in<float>(2),
                                          launch.in<float>(3),  launch.in<float>(4),  launch.out<T>(0),
                                          launch.out<float>(1), launch.out<float>(2), launch.out<float>(3),
                                          launch.out<float>(4)};
        cuda::normalize_batch(cuda::stream_of(launch), s.norm, tensors, launch.workspace);
    });
}

Prepared prepare_backward(const PrepareContext& context) {
    State state = view(context.problem.inputs[0], context.problem.as<BatchNormBackward::Params>().training);
    return Prepared::make(state, state.workspace());
}

// Inputs x, dy, scale, saved_mean, saved_inv_std; outputs dx, dscale, dbias.
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.norm.channels == 0) return;
    auto stream = cuda::stream_of(launch);
    auto *mean = launch.in<float>(3), *inv_std = launch.in<float>(4);
    auto *dscale = launch.out<float>(1), *dbias = launch.out<float>(2);
    cuda::FactorSums sums{s.norm.geometry, s.norm.pixels, s.norm.channels, true};
    cuda::dispatch_device_type(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        auto *x = launch.in<T>(0), *dy = launch.in<T>(1);
        cuda::sum_factor_gradients(stream, sums, x, dy, mean, inv_std, dscale, dbias, launch.workspace);
        cuda::BatchNormGradients<T> gradients{x,
                                              dy,
                                              launch.in<float>(2),
                                              mean,
                                              inv_std,
                                              s.training ? dscale : nullptr,
                                              s.training ? dbias : nullptr,
                                              launch.out<T>(0)};
        cuda::normalize_batch_backward(stream, s.norm, gradients);
    });
}

}  // namespace

KernelList kernels(Cuda, BatchNorm) { return one_algorithm<prepare, run>("two_passes"); }
KernelList kernels(Cuda, BatchNormBackward) {
    return one_algorithm<prepare_backward, run_backward>("two_passes");
}

}  // namespace mge::ops
