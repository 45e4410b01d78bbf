// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/separate_activation.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/channels_last.cpu.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/nn/convolution/reference_loops-inl.h"
#include "libmge/ops/nn/convolution/small.h"
#include "libmge/ops/nn/convolution/unfolded.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct Reference {
    ConvGeometry g;
    DType dtype;
    Activation activation = Activation::none;
};

template <ConvGeometry (*Geometry)(const Problem&)>
Prepared prepare_reference(const PrepareContext& context) {
    Reference state{Geometry(context.problem), context.problem.outputs[0].dtype};
    if (context.problem.op == Conv2d::name)
        state.activation = context.problem.as<Conv2d::Params>().activation;
    return Prepared::make(std::move(state));
}

// Sums are made in double, bias and activation in float.
void run_forward(const Prepared& prepared, const Launch& launch) {
    auto& r = prepared.state<Reference>();
    dispatch_dtype(r.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        const T *x = launch.in<T>(0), *weight = launch.in<T>(1);
        const T* bias = launch.in_if_given<T>(2);
        const T* residual = launch.in_if_given<T>(3);
        for_outputs(r.g, [&](int64_t y, int64_t channel, auto&& products) {
            double sum = 0;
            products([&](int64_t i, int64_t j) { sum += double(float(x[i])) * double(float(weight[j])); });
            if (bias) sum += float(bias[channel]);
            if (residual) sum += float(residual[y]);
            launch.out<T>(0)[y] = T(apply_activation(r.activation, float(sum)));
        });
    });
}

template <class T>
void store(const std::vector<double>& sums, T* out) {
    for (size_t i = 0; i < sums.size(); ++i) out[i] = T(float(sums[i]));
}

void run_backward_data(const Prepared& prepared, const Launch& launch) {
    auto& r = prepared.state<Reference>();
    dispatch_dtype(r.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        const T *weight = launch.in<T>(0), *dy = launch.in<T>(1);
        std::vector<double> sums(size_t(r.g.x_shape().numel()));
        for_outputs(r.g, [&](int64_t y, int64_t, auto&& products) {
            products(
                [&](int64_t i, int64_t j) { sums[size_t(i)] += double(float(dy[y])) * float(weight[j]); });
        });
        store(sums, launch.out<T>(0));
    });
}

void run_backward_weight(const Prepared& prepared, const Launch& launch) {
    auto& r = prepared.state<Reference>();
    dispatch_dtype(r.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        const T *x = launch.in<T>(0), *dy = launch.in<T>(1);
        std::vector<double> sums(size_t(r.g.groups * r.g.oc * r.g.ic * r.g.kernel[0] * r.g.kernel[1]));
        for_outputs(r.g, [&](int64_t y, int64_t, auto&& products) {
            products([&](int64_t i, int64_t j) { sums[size_t(j)] += double(float(dy[y])) * float(x[i]); });
        });
        store(sums, launch.out<T>(0));
    });
}

KernelList widening_convolutions() {
    static const Algorithm list[] = {bf16_conv2d(), cpu::separate_activation<Conv2d, onednn_conv2d>(),
                                     onednn_conv2d()};
    return list;
}

}  // namespace

KernelList kernels(Cpu, Conv2d) {
    static const Algorithm list[] = {
        one_pixel_conv2d(),
        small_conv2d(),
        cpu::in_bf16<widening_convolutions, cpu::Bf16Unit::tiles>(),
        bf16_conv2d(),
        on_plain_images<Conv2d, bf16_conv2d>("nhwc:amx_tiles"),
        winograd_conv2d(),
        winograd_conv2d_changing<true>(),
        split_conv2d(),
        pointwise_conv2d(),
        gathered_conv2d(),
        depthwise_conv2d(),
        depthwise_conv2d_of_halves(),
        turned_depthwise_conv2d(),
        cpu::separate_activation<Conv2d, onednn_conv2d>(),
        onednn_conv2d(),
        winograd_conv2d_changing<false>(),
        unfolded_conv2d(),
        cpu::in_bf16<widening_convolutions, cpu::Bf16Unit::vectors>(),
        half_conv2d(),
        tiled_conv2d(),
        cpu::in_f32<Cpu, Conv2d>(),
        {"reference", plain_layouts, prepare_reference<forward_geometry>, run_forward, {.naive = true}}};
    return list;
}

KernelList kernels(Cpu, Conv2dBackwardData) {
    static const Algorithm list[] = {
        disjoint_windows_conv2d_backward_data(),
        bf16_conv2d_backward_data(),
        on_plain_images<Conv2dBackwardData, bf16_conv2d_backward_data>("nhwc:amx_tiles"),
        winograd_conv2d_backward_data<true>(),
        onednn_conv2d_backward_data(),
        winograd_conv2d_backward_data<false>(),
        cpu::in_f32<Cpu, Conv2dBackwardData>(),
        {"reference",
         plain_layouts,
         prepare_reference<backward_data_geometry>,
         run_backward_data,
         {.naive = true}}};
    return list;
}

KernelList kernels(Cpu, Conv2dBackwardWeight) {
    static const Algorithm list[] = {
        small_conv2d_backward_weight(),
        bf16_conv2d_backward_weight(),
        on_plain_images<Conv2dBackwardWeight, bf16_conv2d_backward_weight>("nhwc:amx_tiles"),
        winograd_conv2d_backward_weight<true>(),
        depthwise_conv2d_backward_weight(),
        onednn_conv2d_backward_weight(),
        winograd_conv2d_backward_weight<false>(),
        cpu::in_f32<Cpu, Conv2dBackwardWeight>(),
        {"reference",
         plain_layouts,
         prepare_reference<backward_weight_geometry>,
         run_backward_weight,
         {.naive = true}}};
    return list;
}

}  // namespace mge::ops
