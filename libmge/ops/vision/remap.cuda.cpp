// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/remap.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/remap.cuda.h"

namespace mge::ops {
namespace {

static_assert(int(Border::wrap) == int(cuda::Border::wrap));
static_assert(int(Border::reflect) == int(cuda::Border::reflect));

struct State {
    cuda::Remapping r{};
    bool has_image_index = false;
    DType dtype = DType::f32;

    int64_t x_elements() const { return r.images * r.channels * r.height * r.width; }
    int64_t y_elements() const { return r.maps * r.channels * r.pixels; }
    cuda::RemapPlaces places(const Launch& launch) const {
        return {launch.in<float>(1),
                has_image_index ? launch.in<int32_t>(launch.inputs.size() - 1) : nullptr};
    }
    cuda::FixedSums sums(const Launch& launch) const {
        return cuda::FixedSums::in(launch.workspace, x_elements(), 4 * r.maps * r.pixels);
    }
};

// Places within an image are counted in 32 bits.
Support supports(const Problem& problem) {
    constexpr int64_t most = 1 << 29;
    auto& x = problem.inputs[0].shape;
    if (x[2] > most || x[3] > most) return {"images of up to 2^29 rows and columns only"};
    return plain_layouts(problem);
}

template <class Op>
State state_of(const Problem& problem) {
    constexpr size_t image = Op::inputs.size() - 1, values = image == 2 ? 0 : 2;  // x, or dy
    auto& p = problem.as<RemapParams>();
    auto &x = problem.inputs[0].shape, &map = problem.inputs[1].shape;
    State s;
    s.r = {x[0],
           x[1],
           map[0],
           map[1] * map[2],
           int(x[2]),
           int(x[3]),
           cuda::Border(int(p.border)),
           p.interpolation == Interpolation::nearest,
           float(p.value)};
    s.has_image_index = problem.has_input(image);
    s.dtype = problem.inputs[values].dtype;
    return s;
}
template <class Op>
Prepared prepare(const PrepareContext& context) {
    return Prepared::make(state_of<Op>(context.problem));
}
Prepared prepare_data(const PrepareContext& context) {
    State s = state_of<RemapBackwardData>(context.problem);
    return Prepared::make(s, cuda::FixedSums::workspace(s.x_elements()));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.y_elements() == 0) return;
    cuda::remap(cuda::stream_of(launch), cuda::type_index(s.dtype), s.r, s.places(launch), launch.inputs[0],
                launch.outputs[0]);
}

void run_data(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.x_elements() == 0) return;
    launch.queue->fill(launch.workspace, 0, cuda::FixedSums::workspace(s.x_elements()));
    cuda::remap_backward_data(cuda::stream_of(launch), cuda::type_index(s.dtype), s.r, s.places(launch),
                              launch.inputs[2], s.sums(launch), launch.outputs[0]);
}

void run_map(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.r.maps * s.r.pixels == 0) return;
    cuda::remap_backward_map(cuda::stream_of(launch), cuda::type_index(s.dtype), s.r, s.places(launch),
                             launch.inputs[0], launch.inputs[2], launch.out<float>(0));
}

}  // namespace

KernelList kernels(Cuda, Remap) {
    static constexpr Algorithm list[] = {{"pixels", supports, prepare<Remap>, run}};
    return list;
}
KernelList kernels(Cuda, RemapBackwardData) {
    static constexpr Algorithm list[] = {{"fixed_sums", supports, prepare_data, run_data}};
    return list;
}
KernelList kernels(Cuda, RemapBackwardMap) {
    static constexpr Algorithm list[] = {{"pixels", supports, prepare<RemapBackwardMap>, run_map}};
    return list;
}

}  // namespace mge::ops
