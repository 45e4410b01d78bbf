// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/preprocess.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/preprocess.cuda.h"

namespace mge::ops {
namespace {

struct State {
    cuda::Preprocessing p{};
    DType dtype = DType::f32;
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
    bool is_last = problem.as<Preprocess::Params>().channels_last;
    int64_t channels = is_last ? x[3] : x[1], pixels = y[2] * y[3];
    return Prepared::make(State{{y[0], channels, y[1], pixels, is_last ? channels : 1, is_last ? 1 : pixels},
                                problem.inputs[0].dtype});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.p.images == 0 || s.p.pixels == 0 || s.p.planes == 0) return;
    cuda::preprocess(cuda::stream_of(launch), cuda::type_index(s.dtype), s.p, launch.inputs[0],
                     launch.in<float>(1), launch.in<float>(2), launch.out<float>(0));
}

}  // namespace

KernelList kernels(Cuda, Preprocess) { return one_algorithm<prepare, run>("pixels"); }

}  // namespace mge::ops
