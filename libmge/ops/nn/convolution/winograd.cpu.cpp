// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/winograd.h"

#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/winograd.h"

namespace mge::ops {
namespace {

using cpu::TileRange;
using cpu::Winograd;

// Below that the transforms, which grow with the channels, take longer than what they save.
constexpr int64_t enough_channels = 32;
// So many tiles share the transformation of a weight, and their points stay in the second cache: measured
// from 28 to 200 on layers of 64 to 512 channels.
constexpr int64_t tiles_of_strip = 56;
// Of fewer than that for each thread all threads compute the points together.
constexpr int64_t tiles_of_thread = 28;
// With fewer the transformation of a weight costs more than its products, and whole nets gain nothing. At 16,
// where a layer alone on AVX-512 is slower than with points made ahead (455 to 316 us for 256 channels of
// 14×14 on two threads), nets are faster: their weights come from beyond the second cache.
constexpr int64_t enough_tiles = 16;

bool lies_well(const TensorSpec& spec) {
    return spec.layout == channel_blocks() || spec.layout == Layout::named("nhwc");
}

cpu::ImageStrides strides_of(const TensorSpec& spec) {
    const int64_t block = channel_block(), channels = spec.shape[1], pixels = spec.shape[2] * spec.shape[3];
    bool is_nhwc = spec.layout == Layout::named("nhwc");
    int64_t pixel = is_nhwc ? channels : block;
    return {block, is_nhwc ? block : pixels * block, spec.shape[3] * pixel, pixel, channels * pixels};
}

int64_t tiles_of(const ConvGeometry& g) {
    auto along = [&](int i) { return (g.out[i] + cpu::winograd_tile - 1) / cpu::winograd_tile; };
    return g.n * along(0) * along(1);
}

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    auto g = forward_geometry(p);
    const Pair one{1, 1}, three{3, 3};
    if (g.kernel != three || g.stride != one || g.dilation != one || g.groups != 1)
        return {"3x3 windows with stride 1, in one group, only"};
    if (!lies_well(p.inputs[0]) || !lies_well(p.outputs[0]))
        return {"neighbouring channels side by side only"};
    if (p.has_input(3) && p.inputs[3].layout != p.outputs[0].layout)
        return {"a residual that lies as y does"};
    if (g.ic % channel_block() || g.oc % channel_block()) return {"channels that fill whole blocks only"};
    if (std::min(g.ic, g.oc) < enough_channels) return {"few channels"};
    if (tiles_of(g) < enough_tiles) return {"few tiles"};
    return supported;
}

// Tiles are computed in strips. With enough of them each thread computes strips of its own; else all compute
// the points of one, then each some panels of channels.
struct State {
    Winograd shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    int64_t strips;
    int threads;
    bool shares_points;

    TileRange strip(int64_t i) const {
        int64_t begin = shape.tiles() * i / strips;
        return {begin, shape.tiles() * (i + 1) / strips - begin};
    }
    int64_t most_tiles() const { return (shape.tiles() + strips - 1) / strips; }
    int64_t scratch() const { return shape.weight_floats() + shape.product_floats(most_tiles()); }
    int64_t points() const { return shape.point_floats(most_tiles()); }
    int64_t workspace_floats() const {
        return threads * scratch() + (shares_points ? 1 : threads) * points();
    }
};

void cut_into_strips(State& s) {
    const int64_t tiles = s.shape.tiles();
    s.shares_points = tiles < s.threads * tiles_of_thread;
    int64_t teams = s.shares_points ? 1 : s.threads;
    s.strips = teams * ((tiles + teams * tiles_of_strip - 1) / (teams * tiles_of_strip));
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    auto [weight, packed] = pack_blocks(context, g, channel_block());
    State s{{g.ic, g.oc, g.in[0], g.in[1], g.out[0], g.out[1], g.padding[0], g.padding[1], g.n,
             strides_of(p.inputs[0]), strides_of(p.outputs[0]), p.as<Conv2d::Params>().activation},
            weight,
            1,
            p.threads,
            false};
    cut_into_strips(s);
    size_t workspace = size_t(s.workspace_floats()) * sizeof(float);
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

struct Run {
    const State& s;
    const Launch& launch;

    float* scratch(int64_t thread) const {
        return static_cast<float*>(launch.workspace) + thread * s.scratch();
    }
    float* points(int64_t thread) const { return scratch(s.threads) + thread * s.points(); }

    void panels(TileRange strip, const float* points, int64_t thread, int64_t first, int64_t last) const {
        float* weights = scratch(thread);
        cpu::WinogradPanel panel{static_cast<const float*>(s.weight->data()),
                                 launch.in_if_given<float>(2),
                                 launch.in_if_given<float>(3),
                                 launch.out<float>(0),
                                 points,
                                 weights,
                                 weights + s.shape.weight_floats()};
        for (int64_t i = first; i < last; ++i) cpu::winograd_panel(s.shape, panel, strip, i);
    }

    void by_strips() const {
        in_parts(s.threads, s.strips, 1, [&](int thread, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                TileRange strip = s.strip(i);
                cpu::winograd_input(s.shape, launch.in<float>(0), strip, 0, s.shape.groups(strip.count),
                                    points(thread));
                panels(strip, points(thread), thread, 0, s.shape.panels());
            }
        });
    }
    void by_panels() const {
        for (int64_t i = 0; i < s.strips; ++i) {
            TileRange strip = s.strip(i);
            par_for(s.threads, s.shape.groups(strip.count), 1, [&](int64_t begin, int64_t end) {
                cpu::winograd_input(s.shape, launch.in<float>(0), strip, begin, end, points(0));
            });
            in_parts(s.threads, s.shape.panels(), 1, [&](int thread, int64_t begin, int64_t end) {
                panels(strip, points(0), thread, begin, end);
            });
        }
    }
};

void run(const Prepared& prepared, const Launch& launch) {
    Run run{prepared.state<State>(), launch};
    run.s.shares_points ? run.by_panels() : run.by_strips();
}

}  // namespace

Algorithm winograd_conv2d() { return {"winograd", supports, prepare, run}; }

}  // namespace mge::ops
