// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/depthwise.h"

#include <algorithm>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

// Limit for x. Larger planes come from beyond the L2 cache, where the library is as fast (0.96 to 1.1 of this
// kernel's time at 112×112 pixels on a Zen 3), unless it computes the activation in a second pass.
constexpr int64_t plane_bytes = 1 << 17;
bool is_faster_than_library(const ConvGeometry& g, Activation activation) {
    return activation >= Activation::silu ||
           g.in[0] * g.in[1] * channel_block() * int64_t(sizeof(float)) <= plane_bytes;
}
// Work per thread that is worth a parallel region; about 20 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    cpu::Depthwise shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    PartSizes parts;
};

Support has_windows(const ConvGeometry& g) {
    if (g.groups == 1 || g.ic != 1 || g.oc != 1) return {"a window for each channel only"};
    const Pair one{1, 1};
    if (g.dilation != one || g.kernel[0] != g.kernel[1] || g.stride[0] != g.stride[1] ||
        !cpu::Depthwise::has(g.kernel[0], g.stride[0]))
        return {"windows of 3×3 and 5×5 with stride 1 or 2 only"};
    if (std::max(g.padding[0], g.padding[1]) >= g.kernel[0]) return {"less padding than the window only"};
    return supported;
}

cpu::Depthwise shape_of(const ConvGeometry& g, const Problem& p) {
    return {g.n,
            g.groups,
            {g.in[0], g.in[1]},
            {g.out[0], g.out[1]},
            {g.padding[0], g.padding[1]},
            g.kernel[0],
            g.stride[0],
            p.as<Conv2d::Params>().activation};
}

PartSizes parts_of(const ConvGeometry& g, int threads, int64_t rows) {
    return part_sizes(threads, rows, grain_multiplications / (g.multiplications() / rows + 1) + 1);
}

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    if (cpu_isa() >= Isa::avx512) return {"not measured with vectors of 512 bits"};
    auto g = forward_geometry(p);
    if (Support windows = has_windows(g); !windows) return windows;
    if (has_fast_library() && !is_faster_than_library(g, p.as<Conv2d::Params>().activation))
        return {"smaller images, or functions of exponentials, only"};
    return uses_channel_blocks(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    ConvGeometry weights = g;
    weights.oc = g.groups;
    auto [weight, packed] = pack_blocks(context, weights, channel_block());
    State s{shape_of(g, p), weight, {}};
    s.parts = parts_of(g, p.threads, s.shape.rows());
    return Prepared::make(std::move(s), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const cpu::DepthwiseData data{launch.in<float>(0), static_cast<const float*>(s.weight->data()),
                                  launch.in_if_given<float>(2), launch.in_if_given<float>(3),
                                  launch.out<float>(0)};
    in_claimed_parts(launch.threads, s.shape.rows(), s.parts,
                     [&](int64_t first, int64_t last) { cpu::depthwise(s.shape, data, first, last); });
}

// --- images of bf16 with their channels last ---

struct HalvesState {
    cpu::Depthwise shape;
    PackedValues<float> weight;
    PartSizes parts;
};

Support supports_halves(const Problem& p) {
    if (cpu_isa() < Isa::amx) return {"not measured without matrix instructions"};
    if (Support images = has_channels_last_of_bf16(p); !images) return images;
    if (!p.is_constant(1)) return {"constant weights only"};
    if (p.outputs[0].dtype != DType::bf16) return {"results of bf16 only"};
    if (without_nan(p.as<Conv2d::Params>().activation) > Activation::hswish)
        return {"another function for the activation"};
    const auto g = forward_geometry(p);
    if (g.groups % cpu::depthwise_halves_block != 0) return {"multiples of 16 channels only"};
    return has_windows(g);
}

Prepared prepare_halves(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = forward_geometry(p);
    constexpr int64_t vector = cpu::depthwise_halves_block, pair = 2 * vector;
    const int64_t taps = g.kernel[0] * g.kernel[1];
    HalvesState s{shape_of(g, p), PackedValues<float>(g.groups * taps), {}};
    s.parts = parts_of(g, p.threads, s.shape.rows_of_pixels());
    auto* weight = static_cast<const BFloat16*>(context.constants[1]);
    for (int64_t c = 0; c < g.groups; ++c) {
        const int64_t first = c / pair * pair, i = c - first;
        const bool is_paired = first + pair <= g.groups;
        float* to = s.weight.data() + first * taps + (is_paired ? i % 2 * vector + i / 2 : i);
        for (int64_t tap = 0; tap < taps; ++tap)
            to[tap * (is_paired ? pair : vector)] = float(weight[c * taps + tap]);
    }
    PackedInputs packed{{s.weight.piece()}, 1u << 1};
    return Prepared::make(std::move(s), 0, std::move(packed));
}

void run_halves(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<HalvesState>();
    const cpu::DepthwiseHalves data{launch.in<BFloat16>(0), s.weight.data(), launch.in_if_given<BFloat16>(2),
                                    launch.in_if_given<BFloat16>(3), launch.out<BFloat16>(0)};
    in_claimed_parts(launch.threads, s.shape.rows_of_pixels(), s.parts,
                     [&](int64_t first, int64_t last) { cpu::depthwise(s.shape, data, first, last); });
}

}  // namespace

Algorithm depthwise_conv2d_of_halves() {
    return {"depthwise_halves", supports_halves, prepare_halves, run_halves};
}
Algorithm depthwise_conv2d() { return {"depthwise", supports, prepare, run}; }

}  // namespace mge::ops
