// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/attention/attention.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/attention/algorithms.cuda.h"
#include "libmge/ops/nn/attention/geometry.h"

namespace mge::ops {
namespace {

struct State {
    AttentionShape shape;
    DType dtype = DType::f32;
};

State state_of(std::string_view who, const Problem& problem, size_t mask) {
    return {attention_shape(who, problem.as<AttentionParams>(), problem.inputs, mask),
            problem.inputs[0].dtype};
}

// Inputs q, k, v, mask; outputs y, log_sum_exp.
Prepared prepare(const PrepareContext& context) {
    return Prepared::make(state_of(Attention::name, context.problem, 3));
}
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::dispatch_device_type(state.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        cuda::attend<T>(cuda::stream_of(launch), state.shape,
                        {launch.in<T>(0), launch.in<T>(1), launch.in<T>(2), launch.in_if_given<T>(3),
                         launch.out<T>(0), launch.out<float>(1)});
    });
}

// Inputs q, k, v, dy, y, log_sum_exp, mask, dlog_sum_exp; outputs dq, dk, dv.
Prepared prepare_backward(const PrepareContext& context) {
    State state = state_of(AttentionBackward::name, context.problem, 6);
    auto& s = state.shape;
    return Prepared::make(state, size_t(s.batch * s.heads * s.queries) * sizeof(float));
}
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::dispatch_device_type(state.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        cuda::attend_backward<T>(
            cuda::stream_of(launch), state.shape,
            {launch.in<T>(0), launch.in<T>(1), launch.in<T>(2), launch.in<T>(3), launch.in<T>(4),
             launch.in<float>(5), launch.in_if_given<T>(6), launch.in_if_given<float>(7), launch.out<T>(0),
             launch.out<T>(1), launch.out<T>(2), static_cast<float*>(launch.workspace)});
    });
}

}  // namespace

Algorithm tiled_attention() { return {"tiles", plain_layouts, prepare, run}; }
Algorithm tiled_attention_backward() { return {"tiles", plain_layouts, prepare_backward, run_backward}; }

// cuDNN's engines for attention compile their code, which takes a second or two: that is for those who
// measure.
KernelList kernels(Cuda, Attention) {
    static const Algorithm list[] = {tiled_attention(), cudnn_attention()};
    return list;
}
KernelList kernels(Cuda, AttentionBackward) {
    static const Algorithm list[] = {tiled_attention_backward(), cudnn_attention_backward()};
    return list;
}

}  // namespace mge::ops
