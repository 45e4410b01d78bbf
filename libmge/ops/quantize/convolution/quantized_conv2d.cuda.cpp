// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/quantize/convolution/step_convolution.cuda.h"
#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return fits_device_text(step_geometry(p));
}

struct State {
    DType x, weight;
    cuda::StepConvArguments arguments{};
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    return Prepared::make(
        State{p.inputs[Conv::x].dtype, p.inputs[Conv::weight].dtype,
              step_arguments(p, image_order(p, Conv::layouts).value_or(ImageOrder::plain))});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::StepConvArguments a = state.arguments;
    if (a.extents.elements() == 0) return;
    set_addresses(a, launch);
    cuda::convolve_steps(cuda::stream_of(launch), cuda::type_index(state.x), cuda::type_index(state.weight),
                         a);
}

}  // namespace

ConvGeometry step_geometry(const Problem& p) {
    return conv_geometry(Conv::name, window_of(p.as<Conv::Params>()), p.inputs[Conv::x].shape,
                         p.inputs[Conv::weight].shape);
}

cuda::StepConvArguments step_arguments(const Problem& problem, ImageOrder order) {
    auto& p = problem.as<Conv::Params>();
    auto g = step_geometry(problem);
    cuda::StepConvArguments a{};
    a.conv = device_extents(g, order);
    a.extents = {g.oc, g.n * g.out[0] * g.out[1], g.ic * g.kernel[0] * g.kernel[1], g.groups};
    a.is_exact = !problem.has_input(Conv::y_scale);
    if (!a.is_exact) {
        StepRange range = step_range(Conv::name, p.dtype, p.lower, p.upper);
        a.lower = range.lower;
        a.upper = range.upper;
    }
    if (problem.has_input(Conv::inner_scale)) {
        StepRange range = full_range(p.inner_dtype);
        a.inner_lower = range.lower;
        a.inner_upper = range.upper;
    }
    a.y_type = cuda::type_index(problem.outputs[0].dtype);
    if (problem.has_input(Conv::residual))
        a.residual_type = cuda::type_index(problem.inputs[Conv::residual].dtype);
    a.is_scale_per_channel = problem.has_input(Conv::scale) && problem.inputs[Conv::scale].numel() > 1;
    a.is_even = p.rounding == StepRounding::half_even;
    a.activation = p.activation;
    return a;
}

void set_addresses(cuda::StepConvArguments& a, const Launch& launch) {
    auto input = [&]<class T>(Conv::Input i, const T*& address) { address = launch.in_if_given<T>(i); };
    input(Conv::x, a.x);
    input(Conv::weight, a.weight);
    input(Conv::scale, a.scale);
    input(Conv::bias, a.bias);
    input(Conv::residual, a.residual);
    input(Conv::x_zero, a.x_zero);
    input(Conv::weight_zero, a.weight_zero);
    input(Conv::y_scale, a.y_scale);
    input(Conv::y_zero, a.y_zero);
    input(Conv::residual_scale, a.residual_scale);
    input(Conv::residual_zero, a.residual_zero);
    input(Conv::inner_scale, a.inner_scale);
    input(Conv::inner_zero, a.inner_zero);
    input(Conv::shift, a.shift);
    a.y = launch.outputs[0];
}

Algorithm implicit_gemm_quantized_conv2d() { return {"implicit_gemm", supports, prepare, run}; }

KernelList kernels(Cuda, QuantizedConv2d) {
    static const Algorithm list[] = {cudnn_quantized_conv2d(), implicit_gemm_quantized_conv2d()};
    return list;
}

}  // namespace mge::ops
