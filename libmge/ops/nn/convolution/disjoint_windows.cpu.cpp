// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>
#include <optional>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/disjoint_windows.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

// Work per thread that is worth a parallel region; about 50 multiplications per nanosecond.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    cpu::DisjointWindows shape;
    int64_t images, x_image, y_image, grain;
    PackedValues<float> weight;
};

// Nullopt for layouts that are not made of pixels and blocks of channels.
std::optional<cpu::ImageSteps> steps_of(const TensorSpec& spec) {
    const int64_t channels = spec.shape[1], height = spec.shape[2], width = spec.shape[3];
    if (spec.layout.is_plain()) return cpu::ImageSteps{1, height * width, width, 1};
    if (spec.layout == Layout::named("nhwc")) return cpu::ImageSteps{channels, 0, width * channels, channels};
    for (int64_t block : {8, 16})
        if (spec.layout == Layout::named(block == 8 ? "nChw8c" : "nChw16c"))
            return cpu::ImageSteps{block, height * width * block, width * block, block};
    return std::nullopt;
}

int64_t stored_channels(const TensorSpec& spec, const cpu::ImageSteps& steps) {
    return round_up(spec.shape[1], steps.block);
}

cpu::DisjointWindows shape_of(const Problem& p, const ConvGeometry& g) {
    cpu::ImageSteps x = *steps_of(p.inputs[1]), y = *steps_of(p.outputs[0]);
    return {g.out[0], g.out[1], g.oc, stored_channels(p.outputs[0], y), g.kernel[0], g.kernel[1], x, y};
}

Support supports(const Problem& p) {
    for (auto* spec : {&p.inputs[0], &p.inputs[1], &p.outputs[0]})
        if (spec->dtype != DType::f32) return {"f32 only"};
    if (!p.is_constant(0) || !p.inputs[0].layout.is_plain()) return {"constant plain weights only"};
    auto g = backward_data_geometry(p);
    if (g.groups != 1) return {"one group only"};
    if (g.stride != g.kernel || g.padding != Pair{0, 0} || g.dilation != Pair{1, 1})
        return {"windows that lie side by side only"};
    if (g.in != Pair{g.out[0] * g.kernel[0], g.out[1] * g.kernel[1]})
        return {"pixels outside of all windows"};
    if (p.inputs[1].numel() == 0) return {"an empty tensor"};
    auto x = steps_of(p.inputs[1]), y = steps_of(p.outputs[0]);
    if (!x || !y || y->block == 1) return {"a result whose channels do not lie side by side"};
    auto lanes = cpu::disjoint_window_kernels().lanes();
    if (y->block % lanes != 0) return {"channels that do not fill vectors"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = backward_data_geometry(p);
    State state{shape_of(p, g), g.n, 0, 0, 0, {}};
    state.x_image = int64_t(p.inputs[1].bytes() / sizeof(float)) / g.n;
    state.y_image = int64_t(p.outputs[0].bytes() / sizeof(float)) / g.n;
    state.grain = grain_multiplications / (g.multiplications() / (g.n * g.out[0])) + 1;
    state.weight = PackedValues<float>(state.shape.packed_floats());
    cpu::pack_disjoint_windows(state.shape, g.ic, static_cast<const float*>(context.constants[0]),
                               state.weight.data());
    PackedInputs packed{{state.weight.piece()}, 1};
    return Prepared::make(std::move(state), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::disjoint_window_kernels();
    auto rows = [&](int64_t first, int64_t last) {
        for (int64_t n = first / s.shape.height; first < last; ++n) {
            int64_t end = std::min((n + 1) * s.shape.height, last), skipped = n * s.shape.height;
            kernels.multiply(s.shape, launch.in<float>(1) + n * s.x_image, s.weight.data(),
                             launch.out<float>(0) + n * s.y_image, first - skipped, end - skipped);
            first = end;
        }
    };
    par_for(launch.threads, s.images * s.shape.height, s.grain, rows);
}

}  // namespace

Algorithm disjoint_windows_conv2d_backward_data() { return {"apart_windows", supports, prepare, run}; }

}  // namespace mge::ops
