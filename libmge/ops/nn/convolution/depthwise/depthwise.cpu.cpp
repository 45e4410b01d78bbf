// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/depthwise.h"

#include <algorithm>
#include <array>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/depthwise/inner_problem.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// Limit for x. Larger planes come from beyond the L2 cache, where the library is as fast (0.96 to 1.1 of this
// kernel's time at 112×112 pixels on a Zen 3), unless it computes the activation in a second pass. On a Zen 4
// this kernel takes 0.5 to 0.95 of the library's time for every layer of MobileNetV2 and V3.
constexpr int64_t plane_bytes = 1 << 17;
bool is_faster_than_library(const ConvGeometry& g, Activation activation) {
    return activation >= Activation::silu || cpu_isa() == Isa::avx512_bf16 ||
           g.in[0] * g.in[1] * channel_block() * int64_t(sizeof(float)) <= plane_bytes;
}
// Smallest height of a strip of y. Strips of 7 rows cost more than they save: two threads read the rows of x
// at their border.
constexpr int64_t strip_rows = 14;
// Work per thread that is worth a parallel region; about 20 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    cpu::Depthwise shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    PartSizes parts;
    // Each thread computes one strip of all planes. 1×1 convolutions divide their pixels in the same way, so
    // a thread reads the rows that it has just written.
    int64_t strips;

    int64_t planes() const { return shape.rows() / shape.out[0]; }
    int64_t items() const { return planes() * strips; }
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
    if (cpu_isa() >= Isa::avx512 && cpu_isa() != Isa::avx512_bf16)
        return {"not measured with these vectors of 512 bits"};
    auto g = forward_geometry(p);
    if (Support windows = has_windows(g); !windows) return windows;
    if (has_fast_library() && !is_faster_than_library(g, p.as<Conv2d::Params>().activation))
        return {"smaller images, or functions of exponentials, only"};
    return uses_channel_blocks(p);
}

// Several images are divided as a whole. A few planes are cut further, so that each thread has work.
int64_t strips_of(const ConvGeometry& g, int64_t threads, int64_t planes) {
    const int64_t of_planes = ceil_div(threads, planes);
    const int64_t high = g.n > 1 ? 1 : g.out[0] / strip_rows;
    return std::clamp<int64_t>(std::max(of_planes, high), 1, std::min(threads, g.out[0]));
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    ConvGeometry weights = g;
    weights.oc = g.groups;
    auto [weight, packed] = pack_blocks(context, weights, channel_block());
    State s{shape_of(g, p), weight, {}, 1};
    s.strips = strips_of(g, p.threads, s.planes());
    s.parts = parts_of(g, p.threads, s.items());
    return Prepared::make(std::move(s), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const cpu::DepthwiseData data{launch.in<float>(0), static_cast<const float*>(s.weight->data()),
                                  launch.in_if_given<float>(2), launch.in_if_given<float>(3),
                                  launch.out<float>(0)};
    const int64_t planes = s.planes(), rows = s.shape.out[0];
    in_claimed_parts(launch.threads, s.items(), s.parts, [&](int64_t first, int64_t last) {
        for (int64_t item = first; item < last; ++item) {
            const int64_t strip = item / planes, row = item % planes * rows;
            cpu::depthwise(s.shape, data, row + rows * strip / s.strips, row + rows * (strip + 1) / s.strips);
        }
    });
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

// The gradient of depthwise weights is a depthwise convolution, too: of x with dy as windows, where stride
// and dilation change places. oneDNN has fast kernels for windows of any size in the forward operator alone.
// They add the products of a window one after the other, which loses digits, so dy is cut into tiles. Each is
// a window on a copy of its part of x, and their results are added in double precision.
constexpr std::string_view prefix = "by_dy:";
// The library's own gradient of windows up to this size takes 0.8 of the time.
constexpr int64_t small_window = 3;
// For a tile: 3136 equal products in one register have an error of 4e-5.
constexpr int64_t most_products = 512;
// Wider tiles have less margin, but are no faster.
constexpr int64_t most_columns = 28;
// Tiles that are computed at once: about so much memory per thread, which stays in its L2 cache, or one tile.
constexpr int64_t floats_of_thread = 1 << 18;

// The tiles of a plane of dy. The last of a row or column of tiles overlaps the previous one, and has zeros
// there.
struct Tiles {
    Tiles(const ConvGeometry& g, int threads) {
        cut(g, 1, most_columns);
        cut(g, 0, most_products / size[1]);
        floats = size[0] * size[1] + x_size[0] * x_size[1] + g.kernel[0] * g.kernel[1];
        all = g.n * count[0] * count[1];
        at_once = std::clamp<int64_t>(threads * floats_of_thread / (floats * g.groups), 1, all);
    }

    Pair size, count;
    Pair x_size;      // the part of x that a tile meets
    int64_t floats;   // those of dy, x and the result in a tile
    int64_t all;      // tiles of a channel in all images
    int64_t at_once;  // tiles of a channel in one convolution

private:
    void cut(const ConvGeometry& g, size_t axis, int64_t most) {
        auto divided = [&](int64_t parts) { return ceil_div(g.out[axis], parts); };
        size[axis] = divided(divided(most));
        count[axis] = divided(size[axis]);
        x_size[axis] = (size[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] + 1;
    }
};

// The convolution of tiles: their channels are those of one image.
InnerProblem<Conv2d> by_dy(const Problem& p, const ConvGeometry& g, const Tiles& tiles) {
    const int64_t planes = tiles.at_once * g.groups;
    TensorSpecs inputs{p.inputs[0], p.inputs[1]}, outputs{p.outputs[0]};
    inputs[0].shape = {1, planes, tiles.x_size[0], tiles.x_size[1]};
    inputs[1].shape = {planes, 1, 1, tiles.size[0], tiles.size[1]};
    outputs[0].shape = {1, planes, g.kernel[0], g.kernel[1]};
    return {p,
            {.stride = g.dilation, .dilation = g.stride, .groups = planes},
            std::move(inputs),
            std::move(outputs)};
}

// Parts of the workspace, in bytes. The last one is that of the convolution of tiles.
struct Workspace {
    Workspace(const ConvGeometry& g, const Tiles& t) {
        const int64_t planes = t.at_once * g.groups, window = g.kernel[0] * g.kernel[1];
        x = aligned(size_t(g.groups * window) * sizeof(double));
        dy = x + aligned(size_t(planes * t.x_size[0] * t.x_size[1]) * sizeof(float));
        result = dy + aligned(size_t(planes * t.size[0] * t.size[1]) * sizeof(float));
        inner = result + aligned(size_t(planes * window) * sizeof(float));
    }

    static constexpr size_t sums = 0;
    size_t x, dy, result, inner;

private:
    static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
};

struct GradientState {
    ConvGeometry g;
    Tiles tiles;
    Workspace workspace;
    Prepared inner;
};

Support supports_gradient(const Problem& p) {
    if (Support floats = is_of_f32(p); !floats) return floats;
    if (!has_fast_library()) return {"not measured without oneDNN's kernels for x86-64"};
    for (auto& spec : {p.inputs[0], p.inputs[1], p.outputs[0]})
        if (!spec.layout.is_plain()) return {"plain layouts only"};
    const auto g = backward_weight_geometry(p);
    if (g.groups == 1 || g.ic != 1 || g.oc != 1) return {"a window for each channel only"};
    if (std::max(g.kernel[0], g.kernel[1]) <= small_window) return {"windows above 3×3 only"};
    return onednn_conv2d().supports(by_dy(p, g, Tiles(g, p.threads)).problem);
}

std::vector<Candidate> gradient_candidates(const Problem& p) {
    const auto g = backward_weight_geometry(p);
    auto list = onednn_conv2d().candidates(by_dy(p, g, Tiles(g, p.threads)).problem);
    // The others gain nothing: general products, and kernels that widen each window to 16 by 16 channels.
    std::erase_if(list, [](auto& candidate) {
        return candidate.attributes.locks || candidate.name.starts_with("onednn:jit:");
    });
    for (auto& candidate : list) candidate.name.insert(0, prefix);
    return list;
}

Prepared prepare_gradient(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = backward_weight_geometry(p);
    const Tiles tiles(g, p.threads);
    const auto inside = by_dy(p, g, tiles);
    Candidate candidate = context.candidate;
    candidate.name.erase(0, prefix.size());
    GradientState s{g, tiles, Workspace(g, tiles),
                    onednn_conv2d().prepare({inside.problem, candidate, {}, context.select})};
    const size_t workspace = s.workspace.inner + s.inner.workspace();
    return Prepared::make(std::move(s), workspace);
}

// The elements of a plane from `first` to before `last`.
struct Part {
    const float* plane;
    int64_t columns;
    Pair first, last;
};
// Copies `size` elements of the plane from `start`; those outside of the part are zeros.
void copy_part(const Part& from, const Pair& start, const Pair& size, float* to) {
    const int64_t left = std::clamp<int64_t>(from.first[1] - start[1], 0, size[1]);
    const int64_t right = std::clamp<int64_t>(from.last[1] - start[1], left, size[1]);
    for (int64_t row = start[0]; row < start[0] + size[0]; ++row, to += size[1]) {
        std::fill_n(to, size[1], 0.0f);
        if (row < from.first[0] || row >= from.last[0] || left == right) continue;
        std::copy_n(from.plane + row * from.columns + start[1] + left, right - left, to + left);
    }
}

void copy_tile(const GradientState& s, const Launch& launch, int64_t tile, int64_t channel, int64_t plane) {
    auto& [g, t, workspace, inner] = s;
    auto* to = static_cast<char*>(launch.workspace);
    const Pair index{tile / t.count[1] % t.count[0], tile % t.count[1]};
    const int64_t image = tile / (t.count[0] * t.count[1]), from = image * g.groups + channel;
    Pair first, start, x_start;
    for (size_t i : {0, 1}) {
        first[i] = index[i] * t.size[i];
        start[i] = std::min(first[i], g.out[i] - t.size[i]);
        x_start[i] = start[i] * g.stride[i] - g.padding[i];
    }
    copy_part({launch.in<float>(1) + from * g.out[0] * g.out[1], g.out[1], first, g.out}, start, t.size,
              reinterpret_cast<float*>(to + workspace.dy) + plane * t.size[0] * t.size[1]);
    copy_part({launch.in<float>(0) + from * g.in[0] * g.in[1], g.in[1], {0, 0}, g.in}, x_start, t.x_size,
              reinterpret_cast<float*>(to + workspace.x) + plane * t.x_size[0] * t.x_size[1]);
}

void run_gradient(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<GradientState>();
    auto& [g, t, workspace, inner] = s;
    auto* bytes = static_cast<char*>(launch.workspace);
    auto* sums = reinterpret_cast<double*>(bytes + Workspace::sums);
    const std::array<const void*, 2> inputs{bytes + workspace.x, bytes + workspace.dy};
    const std::array<void*, 1> outputs{bytes + workspace.result};
    const auto* result = reinterpret_cast<const float*>(bytes + workspace.result);
    const int64_t elements = g.groups * g.kernel[0] * g.kernel[1];
    std::fill_n(sums, elements, 0.0);
    for (int64_t first = 0; first < t.all; first += t.at_once) {
        const int64_t count = std::min(t.at_once, t.all - first);
        auto copy = [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) copy_tile(s, launch, first + i / g.groups, i % g.groups, i);
        };
        auto add = [&](int64_t begin, int64_t end) {
            for (int64_t tile = 0; tile < count; ++tile)
                for (int64_t i = begin; i < end; ++i) sums[i] += result[tile * elements + i];
        };
        par_for(launch.threads, count * g.groups, parallel_grain / t.floats + 1, copy);
        onednn_conv2d().run(inner, {inputs, outputs, bytes + workspace.inner, launch.threads});
        par_for(launch.threads, elements, parallel_grain / count + 1, add);
    }
    std::copy_n(sums, elements, launch.out<float>(0));
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
