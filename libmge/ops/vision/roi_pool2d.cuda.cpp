// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/roi_pool2d.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/roi_pool2d.cuda.h"

namespace mge::ops {
namespace {

struct State {
    cuda::RoiPooling p{};
    DType dtype = DType::f32;

    int64_t x_elements() const { return p.images * p.channels * p.height * p.width; }
    int64_t y_elements() const { return p.regions * p.channels * p.rows * p.columns; }
};

State state_of(const Problem& problem) {
    auto& p = problem.as<RoiPoolParams>();
    auto& x = problem.inputs[0].shape;
    return {{x[0], x[1], x[2], x[3], problem.inputs[1].shape[0], p.height, p.width,
             p.mode == RoiPoolMode::max, p.scale},
            problem.inputs[0].dtype};
}
Prepared prepare(const PrepareContext& context) { return Prepared::make(state_of(context.problem)); }
Prepared prepare_backward(const PrepareContext& context) {
    State s = state_of(context.problem);
    return Prepared::make(s, cuda::FixedSums::workspace(s.x_elements()));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.y_elements() == 0) return;
    cuda::roi_pool(cuda::stream_of(launch), cuda::type_index(s.dtype), s.p, launch.inputs[0],
                   launch.in<float>(1), launch.outputs[0]);
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.x_elements() == 0) return;
    launch.queue->fill(launch.workspace, 0, cuda::FixedSums::workspace(s.x_elements()));
    // An element may be in every cell of every region.
    auto sums = cuda::FixedSums::in(launch.workspace, s.x_elements(), s.p.regions * s.p.rows * s.p.columns);
    cuda::roi_pool_backward(cuda::stream_of(launch), cuda::type_index(s.dtype), s.p, launch.inputs[0],
                            launch.in<float>(1), launch.inputs[2], sums, launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cuda, RoiPool2d) { return one_algorithm<prepare, run>("cells"); }
KernelList kernels(Cuda, RoiPool2dBackward) {
    return one_algorithm<prepare_backward, run_backward>("fixed_sums");
}

}  // namespace mge::ops
