// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/small.h"

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/small_convolution.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

// About 30 microseconds of one thread: above that the call and the reorders of a library pay.
constexpr int64_t few_multiplications = 1 << 19;
// Work per thread that is worth a parallel region; about 16 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 14;

struct State {
    ConvGeometry geometry;
    cpu::SmallConvolution image;
    int64_t items, grain;
    Activation activation;
};

Support supports(const Problem& p) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (!spec.layout.is_plain()) return {"plain layouts only"};
            if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
        }
    auto g = forward_geometry(p);
    if (g.groups != 1) return {"one group only"};
    if (g.stride != Pair{1, 1}) return {"stride 1 only"};
    if (g.n == 0) return {"no images"};
    if (g.multiplications() / g.n > few_multiplications) return {"large enough for a library"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto g = forward_geometry(context.problem);
    cpu::SmallConvolution image{g.oc,        g.ic,        g.out[0],      g.out[1],
                                g.in[0],     g.in[1],     g.padding[0],  g.padding[1],
                                g.kernel[0], g.kernel[1], g.dilation[0], g.dilation[1]};
    int64_t items = image.items();
    int64_t per_item = std::max<int64_t>(g.multiplications() / g.n / std::max<int64_t>(items, 1), 1);
    return Prepared::make(State{g, image, items, grain_multiplications / per_item + 1,
                                context.problem.as<Conv2d::Params>().activation},
                          size_t(image.workspace_floats()) * sizeof(float));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& g = state.geometry;
    const float* residual = launch.in_if_given<float>(3);
    auto* padded = static_cast<float*>(launch.workspace);
    int64_t x_size = g.ic * g.in[0] * g.in[1], y_size = g.oc * g.out[0] * g.out[1];
    bool is_relu = state.activation == Activation::relu;
    for (int64_t n = 0; n < g.n; ++n) {
        cpu::pad_image(state.image, launch.in<float>(0) + n * x_size, padded);
        cpu::SmallConvolutionData data{padded,
                                       launch.in<float>(1),
                                       launch.in_if_given<float>(2),
                                       residual ? residual + n * y_size : nullptr,
                                       launch.out<float>(0) + n * y_size,
                                       is_relu};
        par_for(launch.threads, state.items, state.grain,
                [&](int64_t first, int64_t last) { cpu::small_convolution(state.image, data, first, last); });
    }
    if (is_relu || state.activation == Activation::none) return;
    float* y = launch.out<float>(0);
    par_for(launch.threads, g.n * y_size, parallel_grain,
            [&](int64_t first, int64_t last) { cpu::activate(state.activation, y + first, last - first); });
}

}  // namespace

Algorithm small_conv2d() { return {"small", supports, prepare, run}; }

}  // namespace mge::ops
