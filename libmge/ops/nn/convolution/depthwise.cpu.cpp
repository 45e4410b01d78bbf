// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/depthwise.h"

#include <algorithm>
#include <array>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/tensor/dtype_dispatch.h"

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

// --- images of halves: of bf16 with their channels last, or of both dtypes in blocks of channels ---

struct HalvesState {
    cpu::Depthwise shape;
    PackedValues<float> weight;
    PartSizes parts;
    bool has_blocks;
    DType dtype;

    int64_t rows() const { return has_blocks ? shape.rows() : shape.rows_of_pixels(); }
};

bool has_blocks(const Problem& p) { return p.inputs[0].layout == channel_blocks(); }

Support has_blocks_of_halves(const Problem& p) {
    const DType dtype = p.outputs[0].dtype;
    if (cpu_isa() < Isa::avx512 || !is_half(dtype)) return {"halves and vectors of 512 bits only"};
    for (auto& input : p.inputs)
        if (!input.is_absent() && input.dtype != dtype) return {"one dtype only"};
    if (p.inputs[0].numel() == 0 || p.outputs[0].numel() == 0) return {"an empty image"};
    if (!p.inputs[1].layout.is_plain()) return {"plain weights only"};
    return uses_channel_blocks(p);
}

Support has_last_channels_of_halves(const Problem& p) {
    if (cpu_isa() < Isa::amx) return {"not measured without matrix instructions"};
    if (Support images = has_channels_last_of_bf16(p); !images) return images;
    return p.outputs[0].dtype == DType::bf16 ? supported : Support{"results of bf16 only"};
}

Support supports_halves(const Problem& p) {
    if (Support images = has_blocks(p) ? has_blocks_of_halves(p) : has_last_channels_of_halves(p); !images)
        return images;
    if (!p.is_constant(1)) return {"constant weights only"};
    if (without_nan(p.as<Conv2d::Params>().activation) > Activation::hswish)
        return {"another function for the activation"};
    const auto g = forward_geometry(p);
    if (g.groups % cpu::depthwise_halves_block != 0) return {"multiples of 16 channels only"};
    return has_windows(g);
}

// Pairs of vectors alternate between their channels if channels are last.
template <class H>
void pack_halves(const ConvGeometry& g, const H* weight, bool has_pairs, float* to) {
    constexpr int64_t vector = cpu::depthwise_halves_block, pair = 2 * vector;
    const int64_t taps = g.kernel[0] * g.kernel[1];
    for (int64_t c = 0; c < g.groups; ++c) {
        const int64_t first = c / pair * pair, i = c - first;
        const bool is_paired = has_pairs && first + pair <= g.groups;
        float* channel = is_paired ? to + first * taps + i % 2 * vector + i / 2
                                   : to + c / vector * vector * taps + c % vector;
        for (int64_t tap = 0; tap < taps; ++tap)
            channel[tap * (is_paired ? pair : vector)] = float(weight[c * taps + tap]);
    }
}

Prepared prepare_halves(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = forward_geometry(p);
    HalvesState s{shape_of(g, p),
                  PackedValues<float>(g.groups * g.kernel[0] * g.kernel[1]),
                  {},
                  has_blocks(p),
                  p.outputs[0].dtype};
    s.parts = parts_of(g, p.threads, s.rows());
    dispatch_dtype(s.dtype, cpu::HalfTypes(), [&]<class H>(std::type_identity<H>) {
        pack_halves(g, static_cast<const H*>(context.constants[1]), !s.has_blocks, s.weight.data());
    });
    PackedInputs packed{{s.weight.piece()}, 1u << 1};
    return Prepared::make(std::move(s), 0, std::move(packed));
}

template <class H>
cpu::DepthwiseOperands<H> operands_of(const HalvesState& s, const Launch& launch) {
    return {launch.in<H>(0), s.weight.data(), launch.in_if_given<H>(2), launch.in_if_given<H>(3),
            launch.out<H>(0)};
}

void run_halves(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<HalvesState>();
    auto run = [&](auto&& rows) { in_claimed_parts(launch.threads, s.rows(), s.parts, rows); };
    if (!s.has_blocks)
        return run([&](int64_t first, int64_t last) {
            cpu::depthwise(s.shape, operands_of<BFloat16>(s, launch), first, last);
        });
    dispatch_dtype(s.dtype, cpu::HalfTypes(), [&]<class H>(std::type_identity<H>) {
        run([&](int64_t first, int64_t last) {
            cpu::depthwise_in_blocks(s.shape, operands_of<H>(s, launch), first, last);
        });
    });
}

// --- the gradient of the weight ---

// It is a depthwise convolution, too: x with dy as windows. Stride and dilation change places, and the
// channels of all images are those of one. The library has fast kernels for windows of any size in the
// forward operator alone.
constexpr std::string_view prefix = "by_dy:";
// The library's own gradient of windows up to this size takes 0.8 of the time.
constexpr int64_t small_window = 3;

struct ByDy : OwnedProblem {
    ByDy(const Problem& p, const ConvGeometry& g) : OwnedProblem(p), problem(p) {
        params = {.stride = g.dilation, .padding = g.padding, .dilation = g.stride, .groups = g.n * g.groups};
        inputs = {p.inputs[0], p.inputs[1]};
        inputs[0].shape = {1, params.groups, g.in[0], g.in[1]};
        inputs[1].shape = {params.groups, 1, 1, g.out[0], g.out[1]};
        outputs[0].shape = conv_shape(p.op, window_of(params), inputs[0].shape, inputs[1].shape);
        problem.op = Conv2d::name;
        problem.params = &params;
        problem.fields = Conv2d::info.fields;
        problem.inputs = inputs;
        problem.outputs = outputs;
        problem.batch_independence = nullptr;
    }
    ByDy(const ByDy&) = delete;
    ByDy& operator=(const ByDy&) = delete;

    Conv2d::Params params;
    Problem problem;
};

struct GradientState {
    Prepared inner;
    ConvGeometry g;
    Pair sums;           // pixels of the result inside, of which the first are the gradient of an image
    size_t sums_floats;  // in the workspace, before that of `inner`
};

Support supports_gradient(const Problem& p) {
    if (Support floats = is_of_f32(p); !floats) return floats;
    for (auto& spec : {p.inputs[0], p.inputs[1], p.outputs[0]})
        if (!spec.layout.is_plain()) return {"plain layouts only"};
    const auto g = backward_weight_geometry(p);
    if (g.groups == 1 || g.ic != 1 || g.oc != 1) return {"a window for each channel only"};
    if (std::max(g.kernel[0], g.kernel[1]) <= small_window) return {"windows above 3×3 only"};
    return onednn_conv2d().supports(ByDy(p, g).problem);
}

std::vector<Candidate> gradient_candidates(const Problem& p) {
    auto list = onednn_conv2d().candidates(ByDy(p, backward_weight_geometry(p)).problem);
    for (auto& candidate : list) candidate.name.insert(0, prefix);
    return list;
}

Prepared prepare_gradient(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = backward_weight_geometry(p);
    const ByDy inside(p, g);
    auto& y = inside.outputs[0].shape;
    Candidate candidate = context.candidate;
    candidate.name.erase(0, prefix.size());
    GradientState s{
        onednn_conv2d().prepare({inside.problem, candidate, {}, context.select}), g, {y[2], y[3]}, 0};
    constexpr size_t alignment = 16;  // floats
    s.sums_floats = (size_t(y.numel()) + alignment - 1) / alignment * alignment;
    const size_t workspace = s.sums_floats * sizeof(float) + s.inner.workspace();
    return Prepared::make(std::move(s), workspace);
}

void run_gradient(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<GradientState>();
    auto& g = s.g;
    auto* sums = static_cast<float*>(launch.workspace);
    const std::array<const void*, 2> inputs{launch.inputs[0], launch.inputs[1]};
    const std::array<void*, 1> outputs{sums};
    onednn_conv2d().run(s.inner, {inputs, outputs, sums + s.sums_floats, launch.threads});
    auto* to = launch.out<float>(0);
    std::fill_n(to, g.groups * g.kernel[0] * g.kernel[1], 0.0f);
    for (int64_t row = 0; row < g.n * g.groups * g.kernel[0]; ++row) {
        const float* from = sums + (row / g.kernel[0] * s.sums[0] + row % g.kernel[0]) * s.sums[1];
        float* y = to + row % (g.groups * g.kernel[0]) * g.kernel[1];
        for (int64_t i = 0; i < g.kernel[1]; ++i) y[i] += from[i];
    }
}

}  // namespace

Algorithm depthwise_conv2d_of_halves() {
    return {"depthwise_halves", supports_halves, prepare_halves, run_halves};
}
Algorithm depthwise_conv2d() { return {"depthwise", supports, prepare, run}; }
Algorithm depthwise_conv2d_backward_weight() {
    return {"by_dy", supports_gradient, prepare_gradient, run_gradient, {}, gradient_candidates};
}

}  // namespace mge::ops
