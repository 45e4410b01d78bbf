// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/pointwise.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/pointwise.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Channels = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Channels>;
constexpr int64_t lanes = hn::MaxLanes(Channels());
constexpr int64_t block = lanes == 16 ? 16 : 8;
constexpr int panel_vectors = 2;
constexpr int64_t panel_channels = panel_vectors * lanes;
// Twice as many sums, a panel's weights and one pixel fit the registers.
constexpr int max_rows = lanes == 16 ? 14 : 6;
// Weights are fetched so many input channels ahead: they come from beyond the second cache.
constexpr int64_t fetched_ahead = 32;
// Pixels of a strip, which all panels of weights pass by: a quarter of a second cache of 512 KiB has them.
constexpr int64_t strip_floats = 1 << 15;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t stored(int64_t channels) { return ceil_div(channels, block) * block; }
int64_t panels(const Pointwise& s) { return ceil_div(stored(s.oc), panel_channels); }
// Of pixels: those of a tile.
int64_t groups(const Pointwise& s) { return ceil_div(s.pixels, max_rows); }
int64_t groups_of_strip(const Pointwise& s) {
    return std::clamp<int64_t>(strip_floats / (s.ic * max_rows), 1, groups(s));
}

// Where a tile of y begins.
struct Place {
    int64_t channel, pixel;
};

HWY_INLINE Vec load_bias(const Pointwise& s, const float* bias, int64_t channel) {
    const Channels f;
    if (!bias || channel >= s.oc) return hn::Zero(f);
    if (channel + lanes <= s.oc) return hn::LoadU(f, bias + channel);
    HWY_ALIGN float rest[lanes] = {};
    for (int64_t i = channel; i < s.oc; ++i) rest[i - channel] = bias[i];
    return hn::Load(f, rest);
}

HWY_INLINE Vec finish(Activation activation, Vec y) {
    const Channels f;
    if (activation == Activation::relu) return hn::IfThenElseZero(hn::Gt(y, hn::Zero(f)), y);  // 0 for NaN
    if (activation == Activation::relu6) return hn::Min(hn::Max(y, hn::Zero(f)), hn::Set(f, 6.f));
    return y;
}

// Activations that are functions of their own, while a tile is in the first cache.
HWY_NOINLINE void activate(Activation activation, float* y, int64_t n) {
    switch (activation) {
        case Activation::hswish:
            return run_row(functor::Hswish(), y, n, y);
        case Activation::silu:
            return run_row(functor::Silu(), y, n, y);
        case Activation::gelu:
            return run_row(functor::Gelu(), y, n, y);
        case Activation::sigmoid:
            return run_row(functor::Sigmoid(), y, n, y);
        case Activation::tanh:
            return run_row(functor::Tanh(), y, n, y);
        default:
            return;
    }
}
// Of one vector of channels of neighbouring pixels.
HWY_INLINE void activate_rows(Activation activation, float* y, int64_t rows) {
    if (activation <= Activation::relu6) return;
    if (lanes == block) return activate(activation, y, rows * lanes);
    for (int64_t r = 0; r < rows; ++r) activate(activation, y + r * block, lanes);
}

// Sums of R pixels and V vectors of channels.
template <int R, int V>
void compute(const Pointwise& s, const PointwiseData& d, const Place& at) {
    const Channels f;
    Vec sums[R][V];
    const float* weight[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const int64_t channel = at.channel + v * lanes;
        weight[v] = d.weight + channel / block * s.ic * block + channel % block;
        const Vec bias = load_bias(s, d.bias, channel);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r][v] = bias;
    }
    const float* x = d.x + at.pixel * block;
    for (int64_t c = 0; c < s.ic; c += block, x += s.pixels * block) {
        const int64_t count = std::min(block, s.ic - c);
        for (int64_t k = 0; k < count; ++k) {
            Vec column[V];
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) {
                column[v] = hn::LoadU(f, weight[v]);
                hwy::Prefetch(weight[v] + fetched_ahead * block);
                weight[v] += block;
            }
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const Vec pixel = hn::Set(f, x[r * block + k]);
#pragma GCC unroll 2
                for (int v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(pixel, column[v], sums[r][v]);
            }
        }
    }
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const int64_t channel = at.channel + v * lanes;
        const int64_t place = (channel / block * s.pixels + at.pixel) * block + channel % block;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            Vec y = sums[r][v];
            if (d.residual) y = hn::Add(y, hn::LoadU(f, d.residual + place + r * block));
            hn::StoreU(finish(s.activation, y), f, d.y + place + r * block);
        }
        activate_rows(s.activation, d.y + place, R);
    }
}

using Compute = void (*)(const Pointwise&, const PointwiseData&, const Place&);
template <int V, int... R>
constexpr std::array<Compute, max_rows> compute_by_rows(std::integer_sequence<int, R...>) {
    return {compute<R + 1, V>...};
}
constexpr std::array<Compute, max_rows> computes[] = {
    compute_by_rows<1>(std::make_integer_sequence<int, max_rows>()),
    compute_by_rows<2>(std::make_integer_sequence<int, max_rows>())};

int64_t count_items(const Pointwise& s) { return panels(s) * groups(s); }

// Strip by strip, and in each one panel of weights after the other, which comes from beyond the second cache
// once for all pixels of the strip.
void compute_items(const Pointwise& s, const PointwiseData& d, int64_t first, int64_t last) {
    const int64_t width = groups_of_strip(s), items_of_strip = width * panels(s);
    for (int64_t item = first; item < last; ++item) {
        const int64_t begin = item / items_of_strip * width, within = item % items_of_strip;
        const int64_t here = std::min(width, groups(s) - begin), group = begin + within % here;
        const Place at{within / here * panel_channels, s.pixels * group / groups(s)};
        const int64_t rows = s.pixels * (group + 1) / groups(s) - at.pixel;
        const int64_t vectors = std::min(panel_channels, stored(s.oc) - at.channel) / lanes;
        computes[vectors - 1][size_t(rows - 1)](s, d, at);
    }
}

}  // namespace

PointwiseFunctions pointwise_functions() { return {count_items, compute_items}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(pointwise_functions);
const PointwiseFunctions& functions() {
    static const PointwiseFunctions best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(pointwise_functions)();
    }();
    return best;
}

}  // namespace

int64_t Pointwise::items() const { return functions().count_items(*this); }

void pointwise(const Pointwise& shape, const PointwiseData& data, int64_t first, int64_t last) {
    functions().compute_items(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
