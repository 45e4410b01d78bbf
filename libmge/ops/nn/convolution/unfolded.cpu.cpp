// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/unfolded.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/plain_layouts.h"

#include <algorithm>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/packed_product.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

// y = weights * pixels: the rows of the left matrix are the weights of an output channel as they are given,
// the columns of the right one are the pixels of y, each with the values that its window sees.

namespace mge::ops {
namespace {

constexpr int64_t columns = cpu::PackedProduct::panel_columns;
// A strip of unfolded pixels, which all weights multiply: half of an L2 cache of 512 KiB.
constexpr int64_t floats_together = 1 << 16;

struct State {
    ConvGeometry g;
    Activation activation;
    int threads;

    int64_t pixels() const { return g.out[0] * g.out[1]; }
    int64_t depth() const { return g.ic * g.kernel[0] * g.kernel[1]; }
    int64_t panel() const { return depth() * columns; }
    int64_t strip() const { return std::max<int64_t>(floats_together / panel(), 1) * columns; }  // pixels
    int64_t strips() const { return ceil_div(pixels(), strip()); }
    // Floats of each thread.
    int64_t workspace() const { return strip() * depth(); }
};

Support supports(const Problem& p) {
    if (auto support = is_of_f32(p); !support) return support;
    return plain_layouts(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    State s{forward_geometry(p), p.as<Conv2d::Params>().activation, p.threads};
    const auto bytes = size_t(s.workspace() * s.threads) * sizeof(float);
    return Prepared::make(std::move(s), bytes);
}

// A part of one group of one image.
struct Strip {
    int64_t first, last;  // pixels
    const float* x;       // the group's first channel
    const float* weight;
    const float* bias;      // null: none
    const float* residual;  // null: none; may be y
    float* y;               // the group's first channel
};

// The values of one weight for the pixels from `first` on, `count` of them.
void unfold_row(const ConvGeometry& g, const float* channel, int64_t ky, int64_t kx, int64_t first,
                int64_t count, float* row) {
    int64_t oy = first / g.out[1], ox = first % g.out[1];
    for (int64_t i = 0; i < count; ++i) {
        const int64_t h = oy * g.stride[0] + ky * g.dilation[0] - g.padding[0];
        const int64_t w = ox * g.stride[1] + kx * g.dilation[1] - g.padding[1];
        const bool is_inside = h >= 0 && h < g.in[0] && w >= 0 && w < g.in[1];
        row[i] = is_inside ? channel[h * g.in[1] + w] : 0;
        if (++ox == g.out[1]) ox = 0, ++oy;
    }
    std::fill(row + count, row + columns, 0.0f);
}

// The panels of a strip, one behind the other.
void unfold(const State& s, const Strip& strip, float* panels) {
    const ConvGeometry& g = s.g;
    for (int64_t first = strip.first; first < strip.last; first += columns) {
        const int64_t count = std::min(columns, strip.last - first);
        for (int64_t c = 0; c < g.ic; ++c)
            for (int64_t ky = 0; ky < g.kernel[0]; ++ky)
                for (int64_t kx = 0; kx < g.kernel[1]; ++kx, panels += columns)
                    unfold_row(g, strip.x + c * g.in[0] * g.in[1], ky, kx, first, count, panels);
    }
}

// Bias and residual, to which the product adds.
void begin(const State& s, const Strip& strip) {
    for (int64_t c = 0; c < s.g.oc; ++c) {
        const float bias = strip.bias ? strip.bias[c] : 0;
        for (int64_t i = c * s.pixels() + strip.first; i < c * s.pixels() + strip.last; ++i)
            strip.y[i] = bias + (strip.residual ? strip.residual[i] : 0);
    }
}

void compute(const State& s, const Strip& strip, float* panels) {
    unfold(s, strip, panels);
    begin(s, strip);
    float* y = strip.y + strip.first;
    const cpu::PackedProduct shape{s.g.oc, s.pixels(), s.depth(), s.panel()};
    cpu::packed_product(shape, {strip.weight, panels, y, true}, {0, s.g.oc, 0, strip.last - strip.first},
                        {nullptr, nullptr, s.activation, s.pixels(), y});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const ConvGeometry& g = s.g;
    const float *x = launch.in<float>(0), *weight = launch.in<float>(1);
    const float *bias = launch.in_if_given<float>(2), *residual = launch.in_if_given<float>(3);
    const int64_t of_group = s.strips();
    auto strip_of = [&](int64_t i) {
        const int64_t group = i / of_group, first = i % of_group * s.strip(),
                      channel = group % g.groups * g.oc;
        const int64_t y = group * g.oc * s.pixels();
        return Strip{first,
                     std::min(first + s.strip(), s.pixels()),
                     x + group * g.ic * g.in[0] * g.in[1],
                     weight + channel * s.depth(),
                     bias ? bias + channel : nullptr,
                     residual ? residual + y : nullptr,
                     launch.out<float>(0) + y};
    };
    in_parts(std::min(launch.threads, s.threads), g.n * g.groups * of_group, 1,
             [&](int part, int64_t first, int64_t last) {
                 float* panels = static_cast<float*>(launch.workspace) + part * s.workspace();
                 for (int64_t i = first; i < last; ++i) compute(s, strip_of(i), panels);
             });
}

}  // namespace

Algorithm unfolded_conv2d() { return {"unfolded", supports, prepare, run}; }

}  // namespace mge::ops
