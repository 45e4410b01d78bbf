// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"

namespace mge::ops {
namespace {

// Other orders of images are for who cannot give them to cuDNN after all: there is no speed in them here.
template <ConvGeometry (*Geometry)(const Problem&)>
Support supports_product(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return fits_device_text(Geometry(p));
}

struct State {
    DType dtype;
    cuda::ConvArguments arguments{};
};

Prepared prepared(const Problem& p, const ConvGeometry& g, const cuda::ProductExtents& extents) {
    State state{p.outputs[0].dtype};
    state.arguments.conv = device_extents(g, *order_of_images(p));
    state.arguments.extents = extents;
    if (p.op == Conv2d::name) state.arguments.activation = p.as<Conv2d::Params>().activation;
    return Prepared::make(state, size_t(extents.part_bytes()));
}

Prepared prepare_forward(const PrepareContext& context) {
    auto g = forward_geometry(context.problem);
    return prepared(context.problem, g,
                    {g.oc, g.n * g.out[0] * g.out[1], g.ic * g.kernel[0] * g.kernel[1], g.groups});
}
Prepared prepare_backward_data(const PrepareContext& context) {
    auto g = backward_data_geometry(context.problem);
    return prepared(context.problem, g,
                    {g.ic, g.n * g.in[0] * g.in[1], g.oc * g.kernel[0] * g.kernel[1], g.groups});
}
Prepared prepare_backward_weight(const PrepareContext& context) {
    auto g = backward_weight_geometry(context.problem);
    cuda::ProductExtents extents{g.oc, g.ic * g.kernel[0] * g.kernel[1], g.n * g.out[0] * g.out[1], g.groups};
    cuda::split_sums(extents);
    return prepared(context.problem, g, extents);
}

// `place` puts the operands of the operator in their places.
template <class Place>
void run_product(const Prepared& prepared, const Launch& launch, Place place,
                 void (*run)(cuda::Stream, int type, const cuda::ConvArguments&)) {
    auto& state = prepared.state<State>();
    cuda::ConvArguments x = state.arguments;
    if (x.extents.elements() == 0) return;
    place(x);
    x.result = launch.outputs[0];
    x.parts = static_cast<float*>(launch.workspace);
    run(cuda::stream_of(launch), cuda::type_index(state.dtype), x);
}

void run_forward(const Prepared& prepared, const Launch& launch) {
    auto place = [&](cuda::ConvArguments& x) {
        auto input = [&](size_t i) { return i < launch.inputs.size() ? launch.inputs[i] : nullptr; };
        x.x = input(0);
        x.weight = input(1);
        x.bias = input(2);
        x.residual = input(3);
    };
    run_product(prepared, launch, place, cuda::run_conv2d);
}
void run_backward_data(const Prepared& prepared, const Launch& launch) {
    auto place = [&](cuda::ConvArguments& x) {
        x.weight = launch.inputs[0];
        x.dy = launch.inputs[1];
    };
    run_product(prepared, launch, place, cuda::run_conv2d_backward_data);
}
void run_backward_weight(const Prepared& prepared, const Launch& launch) {
    auto place = [&](cuda::ConvArguments& x) {
        x.x = launch.inputs[0];
        x.dy = launch.inputs[1];
    };
    run_product(prepared, launch, place, cuda::run_conv2d_backward_weight);
}

}  // namespace

std::optional<ImageOrder> order_of_images(const Problem& p) {
    constexpr uint32_t like = 1 << 2;
    if (p.op == Conv2d::name) return image_order(p, Conv2d::layouts);
    return image_order(
        p, p.op == Conv2dBackwardData::name ? Conv2dBackwardData::layouts : Conv2dBackwardWeight::layouts,
        like);
}

Algorithm implicit_gemm_conv2d() {
    return {"implicit_gemm", supports_product<forward_geometry>, prepare_forward, run_forward};
}
Algorithm implicit_gemm_conv2d_backward_data() {
    return {"implicit_gemm", supports_product<backward_data_geometry>, prepare_backward_data,
            run_backward_data};
}
Algorithm implicit_gemm_conv2d_backward_weight() {
    return {"implicit_gemm", supports_product<backward_weight_geometry>, prepare_backward_weight,
            run_backward_weight};
}

KernelList kernels(Cuda, Conv2d) {
    // cuDNN has a tenth of the bandwidth for windows of each channel's own.
    static const Algorithm list[] = {depthwise_conv2d_on_gpu(), cudnn_conv2d(), implicit_gemm_conv2d()};
    return list;
}

KernelList kernels(Cuda, Conv2dBackwardData) {
    static const Algorithm list[] = {cudnn_conv2d_backward_data(), implicit_gemm_conv2d_backward_data()};
    return list;
}

KernelList kernels(Cuda, Conv2dBackwardWeight) {
    static const Algorithm list[] = {cudnn_conv2d_backward_weight(), implicit_gemm_conv2d_backward_weight()};
    return list;
}

}  // namespace mge::ops
