// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantize.cuda.h"

#include "libmge/kernel/cuda/copy/make_nest.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/fake_quantize.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"

namespace mge::ops {
namespace {

struct State {
    DType steps;
    cuda::StepArguments arguments{};
    bool is_shifted_first = false;
};

State state_of(const Problem& problem, DType steps, StepRange range = {}) {
    auto &x = problem.inputs[0], &scale = problem.inputs[1];
    State state{steps};
    state.arguments.numel = x.numel();
    state.arguments.lower = range.lower;
    state.arguments.upper = range.upper;
    state.arguments.scales = cuda::broadcast_nest(scale.shape, x.shape);
    return state;
}

Prepared prepare_quantize(const PrepareContext& context) {
    auto& p = context.problem.as<Quantize::Params>();
    State state = state_of(context.problem, p.dtype, step_range(Quantize::name, p.dtype, p.lower, p.upper));
    state.arguments.is_even = p.rounding == StepRounding::half_even;
    return Prepared::make(state);
}
Prepared prepare_dequantize(const PrepareContext& context) {
    return Prepared::make(state_of(context.problem, context.problem.inputs[0].dtype));
}
Prepared prepare_fake_quantize(const PrepareContext& context) {
    auto& p = context.problem.as<FakeQuantize::Params>();
    State state = state_of(context.problem, DType::none, {p.lower, p.upper});
    state.is_shifted_first = p.learning != ScaleLearning::none;
    return Prepared::make(state);
}

cuda::StepArguments arguments_of(const State& state, const Launch& launch) {
    cuda::StepArguments x = state.arguments;
    x.x = launch.inputs[0];
    x.scale = launch.in<float>(1);
    x.zeros = launch.in_if_given<void>(2);
    x.y = launch.outputs[0];
    return x;
}

void run_quantize(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    if (state.arguments.numel == 0) return;
    cuda::quantize(cuda::stream_of(launch), cuda::type_index(state.steps), arguments_of(state, launch));
}
void run_dequantize(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    if (state.arguments.numel == 0) return;
    cuda::dequantize(cuda::stream_of(launch), cuda::type_index(state.steps), arguments_of(state, launch));
}
void run_fake_quantize(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    if (state.arguments.numel)
        cuda::fake_quantize(cuda::stream_of(launch), arguments_of(state, launch), state.is_shifted_first);
}

Prepared prepare_add(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<QuantizedAdd::Params>();
    StepRange range = step_range(QuantizedAdd::name, p.dtype, p.lower, p.upper);
    cuda::StepSumArguments x{};
    x.numel = problem.inputs[0].numel();
    x.lower = range.lower;
    x.upper = range.upper;
    x.is_a_signed = problem.inputs[0].dtype == DType::i8;
    x.is_b_signed = problem.inputs[1].dtype == DType::i8;
    x.relu = p.relu;
    x.is_even = p.rounding == StepRounding::half_even;
    return Prepared::make(x);
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto x = prepared.state<cuda::StepSumArguments>();
    if (x.numel == 0) return;
    auto zero = [&](size_t i) { return i < launch.inputs.size() ? launch.in<int32_t>(i) : nullptr; };
    x.a = launch.in<uint8_t>(0);
    x.b = launch.in<uint8_t>(1);
    x.a_scale = launch.in<float>(2);
    x.b_scale = launch.in<float>(3);
    x.y_scale = launch.in<float>(4);
    x.a_zero = zero(5);
    x.b_zero = zero(6);
    x.y_zero = zero(7);
    x.y = launch.out<uint8_t>(0);
    cuda::add_steps(cuda::stream_of(launch), x);
}

}  // namespace

KernelList kernels(Cuda, Quantize) { return one_algorithm<prepare_quantize, run_quantize>("elementwise"); }
KernelList kernels(Cuda, Dequantize) {
    return one_algorithm<prepare_dequantize, run_dequantize>("elementwise");
}
KernelList kernels(Cuda, FakeQuantize) {
    return one_algorithm<prepare_fake_quantize, run_fake_quantize>("elementwise");
}
KernelList kernels(Cuda, QuantizedAdd) { return one_algorithm<prepare_add, run_add>("elementwise"); }

}  // namespace mge::ops
