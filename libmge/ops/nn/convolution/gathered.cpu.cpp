// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/convolution/gathered_windows.h"
#include "libmge/kernel/cpu/convolution/pointwise.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

namespace mge::ops {
namespace {

// Measured on the layers of ResNets with AVX2: at 7×7 pixels these take 0.76 to 0.93 of the library's time,
// at 14×14 as long.
constexpr int64_t enough_channels = 64, enough_pixels = 16, most_pixels = 64;
// Without a fast library the choice is between this and scalar loops.
bool is_faster_than_library(const ConvGeometry& g) {
    const int64_t pixels = g.out[0] * g.out[1];
    return g.stride != Pair{1, 1} && std::min(g.ic, g.oc) >= enough_channels && pixels >= enough_pixels &&
           pixels <= most_pixels;
}
// im2col data of some channels, or of a strip of lines of pixels, which all their weights use: half of an L2
// cache of 512 KiB.
constexpr int64_t together_floats = 1 << 16;

struct State {
    cpu::GatheredWindows windows;
    cpu::Pointwise product;  // product of all channels
    std::shared_ptr<const onednn::PackedWeight> weight;
    int64_t stored_channels;    // channels of the im2col data, in full blocks
    int64_t channels_together;  // channels per product
    int64_t rows_of_strip;      // each thread gathers strips of its own, or all threads gather one together
    int threads;
    bool is_plain;  // the image, not y

    int64_t strips() const { return ceil_div(windows.rows, rows_of_strip); }
    int64_t floats_of_strip() const { return stored_channels * rows_of_strip * windows.out[1]; }
    int64_t blocks() const { return stored_channels / channel_block(); }  // that are gathered
};

// A few colours of a plain image become an image in blocks. oneDNN has kernels for that, if it is fast.
bool is_first_of_network(const Problem& p) {
    const Layout blocks = channel_blocks();
    return !has_fast_library() && p.inputs[0].layout.is_plain() && p.inputs[0].shape[1] < channel_block() &&
           p.outputs[0].layout == blocks && (!p.has_input(3) || p.inputs[3].layout == blocks) &&
           (p.as<Conv2d::Params>().activation != Activation::sigmoid ||
            p.outputs[0].shape[1] % channel_block() == 0);
}

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    if (cpu_isa() >= Isa::avx512) return {"not measured with vectors of 512 bits"};
    auto g = forward_geometry(p);
    if (g.groups != 1 || g.n != 1) return {"one image and one group only"};
    if (is_first_of_network(p)) return supported;
    if (g.ic % channel_block()) return {"channels in full blocks only"};
    if (has_fast_library() && !is_faster_than_library(g))
        return {"few windows that step over pixels, and many channels, only"};
    return uses_channel_blocks(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    auto [weight, packed] = pack_blocks(context, g, channel_block());
    const int64_t elements = g.kernel[0] * g.kernel[1], pixels = g.out[0] * g.out[1], all = g.ic * elements;
    const int64_t stored = round_up(all, channel_block());
    const bool has_few_pixels = pixels <= most_pixels;
    State s{
        windows_of(g),
        {all, g.oc, pixels, p.as<Conv2d::Params>().activation},
        weight,
        stored,
        has_few_pixels ? std::max<int64_t>(together_floats / pixels / channel_block(), 1) * channel_block()
                       : stored,
        has_few_pixels
            ? g.out[0]
            : std::clamp<int64_t>(together_floats / (stored * g.out[1]), 1, ceil_div(g.out[0], p.threads)),
        p.threads,
        p.inputs[0].layout.is_plain()};
    const int64_t strips_at_once = s.strips() > 1 ? p.threads : 1;
    const auto workspace = size_t(strips_at_once * s.floats_of_strip()) * sizeof(float);
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

void gather(const State& s, const cpu::GatheredWindows& windows, const float* x, float* seen, int64_t first,
            int64_t last) {
    if (s.is_plain) return cpu::gather_plain_windows(windows, channel_block(), x, seen, first, last);
    const int64_t elements = windows.elements();  // a block of channels of x makes so many
    cpu::gather_windows(windows, x, seen, first / elements, last / elements);
}

// Items [first, last) of the product of a strip. The sums over some channels follow those over others, of the
// same part of y.
void multiply(const State& s, const Launch& launch, const cpu::GatheredWindows& windows, const float* seen,
              int64_t first, int64_t last) {
    const int64_t all = s.product.ic, place = windows.first_row * windows.out[1] * channel_block();
    const auto* residual = launch.in_if_given<float>(3);
    float* y = launch.out<float>(0) + place;
    for (int64_t begin = 0; begin < all; begin += s.channels_together) {
        cpu::Pointwise product = s.product;
        product.pixels = windows.pixels();
        product.ic = std::min(s.channels_together, all - begin);
        const bool is_first = begin == 0, is_last = begin + product.ic == all;
        if (!is_last) product.activation = Activation::none;
        cpu::pointwise(product,
                       {.x = seen + begin * product.pixels,
                        .weight = static_cast<const float*>(s.weight->data()) + begin * channel_block(),
                        .bias = is_first ? launch.in_if_given<float>(2) : nullptr,
                        .residual = !is_first  ? y
                                    : residual ? residual + place
                                               : nullptr,
                        .y = y},
                       first, last);
    }
}

int64_t items_of(const State& s, const cpu::GatheredWindows& windows) {
    cpu::Pointwise product = s.product;
    product.pixels = windows.pixels();
    return product.items();
}

void run_strip(const State& s, const Launch& launch, int64_t strip, float* seen) {
    cpu::GatheredWindows windows = s.windows;
    windows.first_row = strip * s.rows_of_strip;
    windows.rows = std::min(s.rows_of_strip, s.windows.rows - windows.first_row);
    gather(s, windows, launch.in<float>(0), seen, 0, s.blocks());
    multiply(s, launch, windows, seen, 0, items_of(s, windows));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* seen = static_cast<float*>(launch.workspace);
    if (s.strips() > 1)
        return in_balanced_parts(s.threads, s.strips(), 1, [&](int thread, int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i)
                run_strip(s, launch, i, seen + thread * s.floats_of_strip());
        });
    const int64_t grain = s.is_plain ? 1 : s.windows.elements();
    par_for(s.threads, s.blocks() / grain, 1, [&](int64_t first, int64_t last) {
        gather(s, s.windows, launch.in<float>(0), seen, first * grain, last * grain);
    });
    par_for(s.threads, items_of(s, s.windows), 1,
            [&](int64_t first, int64_t last) { multiply(s, launch, s.windows, seen, first, last); });
}

}  // namespace

Algorithm gathered_conv2d() { return {"gathered", supports, prepare, run}; }

}  // namespace mge::ops
