// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/reference_loops-inl.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_epilogue.h"
#include "libmge/ops/quantize/convolution/tiled_conv2d.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
using ByteTypes = Types<uint8_t, int8_t>;
using StepTypes = Types<uint8_t, int8_t, int32_t>;

struct Reference {
    ConvGeometry g;
    ConvEpilogue epilogue;
    DType x, weight;
};

Prepared prepare_reference(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Conv::Params>();
    auto &x = problem.inputs[Conv::x], &weight = problem.inputs[Conv::weight];
    return Prepared::make(Reference{conv_geometry(Conv::name, window_of(p), x.shape, weight.shape),
                                    ConvEpilogue(problem), x.dtype, weight.dtype});
}

template <class X, class W, class Y>
void run_typed(const Reference& r, const Launch& launch) {
    const X* x = launch.in<X>(Conv::x);
    const W* weight = launch.in<W>(Conv::weight);
    ConvScales scales(launch);
    for_outputs(r.g, [&](int64_t y, int64_t channel, auto&& products) {
        int32_t sum = scales.bias ? scales.bias[channel] : 0;
        products(
            [&](int64_t i, int64_t j) { sum += (x[i] - scales.x_zero) * (weight[j] - scales.weight_zero); });
        launch.out<Y>(0)[y] = Y(finished_step(r.epilogue, scales, launch, sum, channel, y));
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& r = prepared.state<Reference>();
    dispatch_dtype(r.x, ByteTypes{}, [&](auto x) {
        dispatch_dtype(r.weight, ByteTypes{}, [&](auto weight) {
            dispatch_dtype(r.epilogue.dtype, StepTypes{}, [&](auto y) {
                run_typed<typename decltype(x)::type, typename decltype(weight)::type,
                          typename decltype(y)::type>(r, launch);
            });
        });
    });
}

}  // namespace

KernelList kernels(Cpu, QuantizedConv2d) {
    static const Algorithm list[] = {
        channels_last_windows_conv2d(),
        channels_last_depthwise_conv2d(),
        channels_last_winograd_conv2d(),
        channels_last_quantized_conv2d(),
        channels_last_direct_conv2d(),
        depthwise_quantized_conv2d(),
        tiled_quantized_conv2d(),
        {"reference", plain_layouts, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
