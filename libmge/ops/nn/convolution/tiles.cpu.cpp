// SPDX-License-Identifier: Apache-2.0
// A convolution of half-precision images as many small ones in f32. Each widens a tile of one image with its
// margin (zeros outside the image), is computed by an f32 algorithm without padding, and is rounded into the
// result. Weights are widened and packed once. All tiles have one shape, so there is one prepared algorithm:
// the last of a row or column overlaps the previous one, and only its new part is stored. The workspace is a
// small part of the images, which is the reason for using f16.

#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

constexpr std::string_view prefix = "f32_tiles:";

// A tile may take this part of the images, or (every tile reads all weights) this part of the weights, …
constexpr size_t part_of_images = 16, part_of_weights = 4;
// … but not more than what stays in the second-level cache; for the sake of weights a quarter of that.
constexpr size_t cache_bytes = 512 << 10;
// Narrower tiles are mostly margin.
constexpr int64_t narrow_columns = 8;

constexpr size_t alignment_floats = 16;

// The algorithms for a tile. Winograd is not among them: it computes several rows at once, which a tile may
// not have, and transforms the weights each time. Where oneDNN has no fast kernels, our own compute tiles in
// blocks of channels.
KernelList tile_kernels() {
    static const Algorithm list[] = {pointwise_conv2d(), gathered_conv2d(), depthwise_conv2d(),
                                     onednn_conv2d()};
    return has_fast_library() ? KernelList(list).last(1) : KernelList(list);
}

// A candidate's id: its algorithm among tile_kernels(), and below the id that this gave it.
constexpr int kernel_shift = 32;
constexpr uint64_t own_id = (uint64_t(1) << kernel_shift) - 1;

// One image as rows of pixels: what is outside of height and width, and what is inside of them.
struct Planes {
    int64_t outer = 0, inner = 0;
    bool is_known() const { return inner > 0; }
};
Planes planes_of(const TensorSpec& spec) {
    int64_t channels = spec.shape[1];
    if (spec.layout.is_plain()) return {channels, 1};
    if (spec.layout == Layout::named("nhwc")) return {1, channels};
    for (int64_t block : {8, 16})
        if (spec.layout == Layout::named(block == 8 ? "nChw8c" : "nChw16c"))
            return {ceil_div(channels, block), block};
    return {};
}

// Extents of a tile of y and of the part of x that it reads.
struct Tile {
    Pair out{}, in{};
};

// The small convolution. Owns what its Problem points to.
struct TileProblem {
    TileProblem(const Problem& p, const ConvGeometry& g, const Tile& tile)
        : inputs(p.inputs.begin(), p.inputs.end()),
          outputs(p.outputs.begin(), p.outputs.end()),
          params(p.as<Conv2d::Params>()),
          problem(p) {
        for (auto* specs : {&inputs, &outputs})
            for (auto& spec : *specs)
                if (!spec.is_absent()) spec.dtype = DType::f32;
        inputs[0].shape = {1, g.groups * g.ic, tile.in[0], tile.in[1]};
        outputs[0].shape = {1, g.groups * g.oc, tile.out[0], tile.out[1]};
        if (p.has_input(3)) inputs[3].shape = outputs[0].shape;
        params.padding = {0, 0};
        problem.inputs = inputs;
        problem.outputs = outputs;
        problem.params = &params;
    }
    TileProblem(const TileProblem&) = delete;
    TileProblem& operator=(const TileProblem&) = delete;

    TensorSpecs inputs, outputs;
    Conv2d::Params params;
    Problem problem;
};

Tile tile_of(const ConvGeometry& g, const Pair& out) {
    Tile tile{out, {}};
    for (size_t i : {0, 1}) tile.in[i] = (out[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] + 1;
    return tile;
}

// Depends on one image only, so that results do not depend on the batch.
Tile choose_tile(const Problem& p, const ConvGeometry& g) {
    size_t images = (p.inputs[0].bytes() + p.outputs[0].bytes()) / size_t(g.n);
    size_t weights = size_t(p.inputs[1].numel()) * sizeof(float);
    size_t limit = std::min(
        std::max(images / part_of_images, std::min(weights / part_of_weights, cache_bytes / 4)), cache_bytes);
    // oneDNN's kernels copy plain images.
    bool copies = p.inputs[0].layout.is_plain() && p.outputs[0].layout.is_plain();
    bool gathers = !has_fast_library() && g.groups == 1 && p.inputs[0].layout == channel_blocks();
    auto bytes = [&](const Tile& t) {
        int64_t pixels = t.out[0] * t.out[1];
        int64_t floats = g.groups * (g.ic * t.in[0] * t.in[1] + g.oc * pixels) * (copies ? 2 : 1);
        if (gathers) floats += g.ic * g.kernel[0] * g.kernel[1] * pixels;
        return size_t(floats) * sizeof(float);
    };
    Pair out = g.out;
    while (bytes(tile_of(g, out)) > limit) {
        if (out[0] > 1)
            out[0] = (out[0] + 1) / 2;
        else if (out[1] > narrow_columns)
            out[1] = (out[1] + 1) / 2;
        else
            break;
    }
    return tile_of(g, out);
}

Support supports(const Problem& p) {
    if (!is_half(p.inputs[0].dtype)) return {"f16 and bf16 only"};
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (spec.is_absent()) continue;
            if (spec.dtype != p.inputs[0].dtype) return {"one dtype for all operands"};
            if (spec.numel() == 0) return {"an empty tensor"};
        }
    if (!planes_of(p.inputs[0]).is_known() || !planes_of(p.outputs[0]).is_known())
        return {"a layout that has no rows of pixels"};
    if (p.has_input(3) && !(p.inputs[3].layout == p.outputs[0].layout))
        return {"a residual in another layout"};
    if (!p.is_constant(1) || (p.has_input(2) && !p.is_constant(2))) return {"constant weights only"};
    ConvGeometry g = forward_geometry(p);
    Tile tile = choose_tile(p, g);
    if (g.n == 1 && tile.out == g.out) return {"the image is one tile"};
    TileProblem inner(p, g, tile);
    Support support;
    for (auto& kernel : tile_kernels())
        if (support = kernel.supports(inner.problem); support) break;
    return support;
}

std::vector<Candidate> candidates(const Problem& p) {
    ConvGeometry g = forward_geometry(p);
    TileProblem inner(p, g, choose_tile(p, g));
    std::vector<Candidate> result;
    KernelList kernels = tile_kernels();
    for (size_t i = 0; i < kernels.size(); ++i) {
        auto& kernel = kernels[i];
        if (!kernel.supports(inner.problem)) continue;
        std::vector<Candidate> members{{kernel.name, 0, kernel.attributes}};
        if (kernel.candidates) members = kernel.candidates(inner.problem);
        for (auto& member : members)
            if (member.name.find("wino") == std::string::npos)
                result.push_back({std::string(prefix) + member.name, uint64_t(i) << kernel_shift | member.id,
                                  member.attributes});
    }
    return result;
}

struct State {
    ConvGeometry g;
    Tile tile;
    DType dtype;
    Planes x, y;
    bool has_residual;
    PackedValues<float> weight, bias;
    const Algorithm* kernel;
    Prepared inner;
    size_t y_offset, inner_offset;  // floats of the workspace
};

template <class H>
PackedValues<float> widened(const void* from, int64_t n) {
    PackedValues<float> result(n);
    cpu::halves_to_floats(static_cast<const H*>(from), result.data(), n);
    return result;
}
PackedValues<float> widened(DType dtype, const void* from, int64_t n) {
    return dtype == DType::f16 ? widened<Half>(from, n) : widened<BFloat16>(from, n);
}

size_t aligned(int64_t floats) { return round_up(size_t(floats), alignment_floats); }

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    State s{};
    s.g = forward_geometry(p);
    s.tile = choose_tile(p, s.g);
    s.dtype = p.inputs[0].dtype;
    s.x = planes_of(p.inputs[0]);
    s.y = planes_of(p.outputs[0]);
    s.has_residual = p.has_input(3);
    s.weight = widened(s.dtype, context.constants[1], p.inputs[1].numel());
    if (p.has_input(2)) s.bias = widened(s.dtype, context.constants[2], p.inputs[2].numel());
    TileProblem inner(p, s.g, s.tile);
    std::vector<const void*> constants(p.inputs.size());
    constants[1] = s.weight.data();
    if (p.has_input(2)) constants[2] = s.bias.data();
    Candidate candidate{context.candidate.name.substr(prefix.size()), context.candidate.id & own_id,
                        context.candidate.attributes};
    s.kernel = &tile_kernels()[context.candidate.id >> kernel_shift];
    s.inner = s.kernel->prepare({inner.problem, candidate, constants, context.select});
    s.y_offset = aligned(s.x.outer * s.tile.in[0] * s.tile.in[1] * s.x.inner);
    s.inner_offset = s.y_offset + aligned(s.y.outer * s.tile.out[0] * s.tile.out[1] * s.y.inner);
    size_t workspace = s.inner_offset * sizeof(float) + s.inner.workspace();
    // Widened weights are kept only if the inner algorithm has no copy of them.
    PackedInputs packed = s.inner.packed();
    if (packed.inputs >> 1 & 1)
        s.weight = {};
    else
        packed.pieces.push_back(s.weight.piece());
    if (!s.bias.empty()) packed.pieces.push_back(s.bias.piece());
    packed.inputs |= 1u << 1 | (s.bias.empty() ? 0u : 1u << 2);
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

// The position of a tile in the image, and its part that is finished already.
struct Place {
    int64_t image = 0;
    Pair at{}, done{};
};

constexpr int64_t conversions_per_element = 8;

// Calls fn(plane, row) for every row of a tile.
template <class Fn>
void for_rows(int threads, int64_t planes, int64_t rows, int64_t row_length, Fn&& fn) {
    int64_t grain =
        std::max<int64_t>(1, conversions_per_element * parallel_grain / std::max<int64_t>(row_length, 1));
    par_for(threads, planes * rows, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) fn(i / rows, i % rows);
    });
}

// The tile's part of x, zeros around the image.
template <class H>
void load_input(const State& s, const Place& place, const H* x, float* tile, int threads) {
    auto& g = s.g;
    int64_t columns = s.tile.in[1], inner = s.x.inner;
    int64_t left = place.at[1] * g.stride[1] - g.padding[1];
    int64_t begin = std::clamp<int64_t>(-left, 0, columns),
            end = std::clamp<int64_t>(g.in[1] - left, begin, columns);
    for_rows(threads, s.x.outer, s.tile.in[0], columns * inner, [&](int64_t plane, int64_t row) {
        float* to = tile + (plane * s.tile.in[0] + row) * columns * inner;
        int64_t h = place.at[0] * g.stride[0] - g.padding[0] + row;
        if (h < 0 || h >= g.in[0]) return std::fill_n(to, columns * inner, 0.f), void();
        std::fill_n(to, begin * inner, 0.f);
        const H* from =
            x + (((place.image * s.x.outer + plane) * g.in[0] + h) * g.in[1] + left + begin) * inner;
        cpu::halves_to_floats(from, to + begin * inner, (end - begin) * inner);
        std::fill_n(to + end * inner, (columns - end) * inner, 0.f);
    });
}

// A row of the tile in an image of y's shape.
int64_t row_of_image(const State& s, const Place& place, int64_t plane, int64_t row) {
    return (((place.image * s.y.outer + plane) * s.g.out[0] + place.at[0] + row) * s.g.out[1] + place.at[1]) *
           s.y.inner;
}

template <class H>
void load_residual(const State& s, const Place& place, const H* residual, float* tile, int threads) {
    int64_t length = s.tile.out[1] * s.y.inner;
    for_rows(threads, s.y.outer, s.tile.out[0], length, [&](int64_t plane, int64_t row) {
        cpu::halves_to_floats(residual + row_of_image(s, place, plane, row),
                              tile + (plane * s.tile.out[0] + row) * length, length);
    });
}

template <class H>
void store_output(const State& s, const Place& place, const float* tile, H* y, int threads) {
    int64_t length = s.tile.out[1] * s.y.inner, done = place.done[1] * s.y.inner;
    for_rows(threads, s.y.outer, s.tile.out[0] - place.done[0], length, [&](int64_t plane, int64_t row) {
        row += place.done[0];
        cpu::floats_to_halves(tile + (plane * s.tile.out[0] + row) * length + done,
                              y + row_of_image(s, place, plane, row) + done, length - done);
    });
}

// The residual may be y itself: what a tile reads there and does not store, it does not need.
template <class H>
void run_tile(const State& s, const Place& place, const Launch& launch) {
    auto* x = static_cast<float*>(launch.workspace);
    float* y = x + s.y_offset;
    load_input(s, place, launch.in<H>(0), x, launch.threads);
    if (s.has_residual) load_residual(s, place, launch.in<H>(3), y, launch.threads);
    std::array<const void*, 4> inputs{x, s.weight.data(), s.bias.empty() ? nullptr : s.bias.data(),
                                      s.has_residual ? y : nullptr};
    std::array<void*, 1> outputs{y};
    s.kernel->run(s.inner,
                  {{inputs.data(), launch.inputs.size()}, outputs, x + s.inner_offset, launch.threads});
    store_output(s, place, y, launch.out<H>(0), launch.threads);
}

template <class H>
void run_all(const State& s, const Launch& launch) {
    auto &out = s.g.out, &tile = s.tile.out;
    for (int64_t n = 0; n < s.g.n; ++n)
        for (int64_t h = 0; h < out[0]; h += tile[0])
            for (int64_t w = 0; w < out[1]; w += tile[1]) {
                Place place{n, {std::min(h, out[0] - tile[0]), std::min(w, out[1] - tile[1])}, {}};
                place.done = {h - place.at[0], w - place.at[1]};
                run_tile<H>(s, place, launch);
            }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, cpu::HalfTypes(), [&]<class H>(std::type_identity<H>) { run_all<H>(s, launch); });
}

}  // namespace

Algorithm tiled_conv2d() { return {"f32_tiles", supports, prepare, run, {}, candidates}; }

}  // namespace mge::ops
