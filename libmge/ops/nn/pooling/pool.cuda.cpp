// SPDX-License-Identifier: Apache-2.0
// All pooling operators come down to a PoolGeometry and to one of five computations; means of whole images
// are reductions.
#include "libmge/ops/nn/pooling/pool.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/nn/image_order.cuda.h"
#include "libmge/ops/nn/pooling/problem_geometry.h"
#include "libmge/ops/reduce/prepare_reduce.cuda.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {
namespace {

struct State {
    cuda::Pooling pooling{};
    DType dtype = DType::f32;
};

// Places within an image are counted in 32 bits.
template <class Op>
Support supports(const Problem& problem) {
    constexpr int64_t most = int64_t(1) << 29;
    PoolGeometry g = geometry_of<Op>(problem);
    for (auto& pair : {g.in, g.out, g.kernel, g.stride, g.padding})
        for (int64_t extent : pair)
            if (extent > most) return {"extents of up to 2^29 only"};
    return image_order(problem, Op::layouts) ? supported : Support{"images that are all plain or all nhwc"};
}

struct Images {
    PoolGeometry g;
    bool are_plain;
};
template <class Op>
Images images_of(const Problem& problem) {
    return {geometry_of<Op>(problem), image_order(problem, Op::layouts) == ImageOrder::plain};
}

template <class Op>
Prepared prepare(const PrepareContext& context) {
    auto [g, are_plain] = images_of<Op>(context.problem);
    auto pair = [](Pair from, int(&to)[2]) {
        for (size_t axis = 0; axis < 2; ++axis) to[axis] = int(from[axis]);
    };
    State state;
    state.dtype = context.problem.outputs[0].dtype;
    auto& pooling = state.pooling;
    pooling.planes = are_plain ? g.images * g.channels : g.images;
    pooling.channels = are_plain ? 1 : g.channels;
    pooling.count_include_pad = g.count_include_pad;
    pair(g.in, pooling.in);
    pair(g.out, pooling.out);
    pair(g.kernel, pooling.kernel);
    pair(g.stride, pooling.stride);
    pair(g.padding, pooling.padding);
    return Prepared::make(state);
}

template <auto pool>
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.pooling.planes * s.pooling.channels == 0) return;
    pool(cuda::stream_of(launch), cuda::type_index(s.dtype), s.pooling,
         {launch.inputs.data(), launch.outputs[0]});
}

template <class Op>
Support supports_whole(const Problem& problem) {
    PoolGeometry g = geometry_of<Op>(problem);
    if (g.out != Pair{1, 1} || g.kernel != g.in || g.padding != Pair{})
        return {"windows that are whole images"};
    return supports<Op>(problem);
}

template <class Op>
Prepared prepare_whole(const PrepareContext& context) {
    static const auto kernels = cuda::reduce_kernels<Mean>();
    auto [g, are_plain] = images_of<Op>(context.problem);
    int64_t pixels = g.in[0] * g.in[1];
    Shape x = are_plain ? Shape{g.images * g.channels, pixels} : Shape{g.images, pixels, g.channels};
    return prepare_cuda_reduction(context.problem, x, {false, true}, kernels, true);
}

template <class Op>
constexpr Algorithm means[] = {
    {"groups", supports_whole<Op>, prepare_whole<Op>, run_cuda_reduction},
    {"windows", supports<Op>, prepare<Op>, run<cuda::average_pool>},
};
template <class Op, auto pool>
constexpr Algorithm windows[] = {{"windows", supports<Op>, prepare<Op>, run<pool>}};

}  // namespace

KernelList kernels(Cuda, MaxPool2d) { return windows<MaxPool2d, cuda::max_pool>; }
KernelList kernels(Cuda, MaxPool2dBackward) { return windows<MaxPool2dBackward, cuda::max_pool_backward>; }
KernelList kernels(Cuda, MaxPool2dSelect) { return windows<MaxPool2dSelect, cuda::max_pool_select>; }
KernelList kernels(Cuda, AvgPool2d) { return means<AvgPool2d>; }
KernelList kernels(Cuda, AvgPool2dBackward) {
    return windows<AvgPool2dBackward, cuda::average_pool_backward>;
}
KernelList kernels(Cuda, AdaptiveMaxPool2d) { return windows<AdaptiveMaxPool2d, cuda::max_pool>; }
KernelList kernels(Cuda, AdaptiveMaxPool2dBackward) {
    return windows<AdaptiveMaxPool2dBackward, cuda::max_pool_backward>;
}
KernelList kernels(Cuda, AdaptiveMaxPool2dSelect) {
    return windows<AdaptiveMaxPool2dSelect, cuda::max_pool_select>;
}
KernelList kernels(Cuda, AdaptiveAvgPool2d) { return means<AdaptiveAvgPool2d>; }
KernelList kernels(Cuda, AdaptiveAvgPool2dBackward) {
    return windows<AdaptiveAvgPool2dBackward, cuda::average_pool_backward>;
}

}  // namespace mge::ops
