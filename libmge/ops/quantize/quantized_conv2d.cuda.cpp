// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantized_conv2d.cuda.h"

#include "libmge/kernel/cuda/device_activation.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantized_conv2d.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
using ByteTypes = Types<uint8_t, int8_t>;

ConvGeometry geometry_of(const Problem& p) {
    return conv_geometry(Conv::name, window_of(p.as<Conv::Params>()), p.inputs[Conv::x].shape,
                         p.inputs[Conv::weight].shape);
}

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return fits_device_text(geometry_of(p));
}

struct State {
    DType x, weight;
    cuda::StepConvArguments arguments{};
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Conv::Params>();
    auto g = geometry_of(problem);
    State state{problem.inputs[Conv::x].dtype, problem.inputs[Conv::weight].dtype};
    auto& a = state.arguments;
    a.conv = device_extents(g);
    a.extents = {g.oc, g.n * g.out[0] * g.out[1], g.ic * g.kernel[0] * g.kernel[1], g.groups};
    a.is_exact = !problem.has_input(Conv::y_scale);
    if (!a.is_exact) {
        StepRange range = step_range(Conv::name, p.dtype, p.lower, p.upper);
        a.lower = range.lower;
        a.upper = range.upper;
    }
    a.y_type = cuda::type_index(problem.outputs[0].dtype);
    if (problem.has_input(Conv::residual))
        a.residual_type = cuda::type_index(problem.inputs[Conv::residual].dtype);
    a.is_scale_per_channel = problem.has_input(Conv::scale) && problem.inputs[Conv::scale].numel() > 1;
    a.is_even = p.rounding == StepRounding::half_even;
    a.activation = cuda::device_activation(p.activation);
    return Prepared::make(state);
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::StepConvArguments a = state.arguments;
    if (a.extents.elements() == 0) return;
    auto input = [&]<class T>(Conv::Input i, const T*& address) {
        address = size_t(i) < launch.inputs.size() ? launch.in<T>(i) : nullptr;
    };
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
    a.y = launch.outputs[0];
    cuda::dispatch_device_type(state.x, ByteTypes{}, [&]<class X>(std::type_identity<X>) {
        cuda::dispatch_device_type(state.weight, ByteTypes{}, [&]<class Weight>(std::type_identity<Weight>) {
            cuda::convolve_steps<X, Weight>(cuda::stream_of(launch), a);
        });
    });
}

}  // namespace
}  // namespace mge::ops

namespace mge {

template <>
KernelList kernels(Cuda, ops::QuantizedConv2d) {
    static constexpr Algorithm list[] = {{"implicit_gemm", ops::supports, ops::prepare, ops::run}};
    return list;
}

}  // namespace mge
