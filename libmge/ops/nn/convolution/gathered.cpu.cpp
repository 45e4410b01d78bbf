// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>

#include "libmge/device/cpu/cpu_device.h"
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
// im2col data of some channels, which all their weights use: half of an L2 cache of 512 KiB. The product cuts
// many pixels into strips itself.
constexpr int64_t together_floats = 1 << 16;

struct State {
    cpu::GatheredWindows windows;
    cpu::Pointwise product;  // product of all channels
    std::shared_ptr<const onednn::PackedWeight> weight;
    int64_t channels_together;  // channels per product
    int threads;
    bool is_plain;  // the image, not y
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
    const int64_t stored = (all + channel_block() - 1) / channel_block() * channel_block();
    auto pair = [](const Pair& of) { return std::array<int64_t, 2>{of[0], of[1]}; };
    State s{
        {g.ic, pair(g.in), pair(g.out), pair(g.kernel), pair(g.stride), pair(g.padding), pair(g.dilation)},
        {all, g.oc, pixels, p.as<Conv2d::Params>().activation},
        weight,
        pixels > most_pixels
            ? stored
            : std::max<int64_t>(together_floats / pixels / channel_block(), 1) * channel_block(),
        p.threads,
        p.inputs[0].layout.is_plain()};
    return Prepared::make(std::move(s), size_t(stored * pixels) * sizeof(float), std::move(packed));
}

// The sums over some channels after those over others, of the same part of y.
void multiply(const State& s, const Launch& launch, const float* seen, int64_t first, int64_t last) {
    const int64_t all = s.product.ic;
    for (int64_t begin = 0; begin < all; begin += s.channels_together) {
        cpu::Pointwise product = s.product;
        product.ic = std::min(s.channels_together, all - begin);
        const bool is_first = begin == 0, is_last = begin + product.ic == all;
        if (!is_last) product.activation = Activation::none;
        cpu::pointwise(product,
                       {.x = seen + begin * s.product.pixels,
                        .weight = static_cast<const float*>(s.weight->data()) + begin * channel_block(),
                        .bias = is_first ? launch.in_if_given<float>(2) : nullptr,
                        .residual = is_first ? launch.in_if_given<float>(3) : launch.out<float>(0),
                        .y = launch.out<float>(0)},
                       first, last);
    }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* seen = static_cast<float*>(launch.workspace);
    const auto* x = launch.in<float>(0);
    if (s.is_plain)
        par_for(s.threads, (s.product.ic + channel_block() - 1) / channel_block(), 1,
                [&](int64_t first, int64_t last) {
                    cpu::gather_plain_windows(s.windows, channel_block(), x, seen, first, last);
                });
    else
        par_for(s.threads, s.windows.ic / channel_block(), 1,
                [&](int64_t first, int64_t last) { cpu::gather_windows(s.windows, x, seen, first, last); });
    par_for(s.threads, s.product.items(), 1,
            [&](int64_t first, int64_t last) { multiply(s, launch, seen, first, last); });
}

}  // namespace

Algorithm gathered_conv2d() { return {"gathered", supports, prepare, run}; }

}  // namespace mge::ops
