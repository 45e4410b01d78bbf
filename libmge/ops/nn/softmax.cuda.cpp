// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/softmax.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/softmax.cuda.h"

namespace mge::ops {
namespace {

struct State {
    cuda::SoftmaxArguments arguments{1, 1, 1, false};
    DType dtype = DType::f32;
};

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<Softmax::Params>();
    auto& x = context.problem.inputs[0];
    State state{{1, 1, 1, params.log}, x.dtype};
    auto& s = state.arguments;
    int axis = normalize_axis(Softmax::name, params.axis, x.shape.rank());
    for (int i = 0; i < x.shape.rank(); ++i) (i < axis ? s.outer : i == axis ? s.n : s.inner) *= x.shape[i];
    return Prepared::make(state);
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& s = state.arguments;
    if (s.outer == 0 || s.n == 0 || s.inner == 0) return;
    cuda::softmax(cuda::stream_of(launch), cuda::type_index(state.dtype), s, launch.inputs[0],
                  launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cuda, Softmax) { return one_algorithm<prepare, run>("rows"); }

}  // namespace mge::ops
