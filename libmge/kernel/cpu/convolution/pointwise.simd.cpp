// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/pointwise.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/convolution/pointwise.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"
#include "libmge/kernel/cpu/rows/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
constexpr int panel_vectors = 2;
constexpr int64_t panel_channels = panel_vectors * lanes;
// Twice as many sums, a panel's weights and one pixel fit the registers; on Arm, which has 32 as AVX-512 has,
// a block of all pixels of a tile.
#if HWY_TARGET == HWY_NEON
constexpr int max_rows = 7;
#else
constexpr int max_rows = lanes == 16 ? 14 : 6;
#endif
// Pixels of a strip, which all panels of weights pass by: a second cache of 512 KiB has half of them and two
// panels.
constexpr int64_t strip_floats = 1 << 16;
// Arm's processors detect the stream of a panel's weights, which is one.
constexpr bool fetches_weights = HWY_TARGET != HWY_NEON;
// Tiles that are computed by one call, and whose activations are computed in rows long enough for vectors.
constexpr int64_t activated_together = 8;
constexpr int64_t floats_in_line = 16;
// The weights of a panel's vectors are side by side.
constexpr bool is_panel_one_block = panel_channels == block;

int64_t stored(int64_t channels) { return ceil_div(channels, block) * block; }
int64_t panels(const Pointwise& s) { return ceil_div(stored(s.oc), panel_channels); }
// Number of tiles of pixels.
int64_t groups(const Pointwise& s) { return ceil_div(s.pixels, max_rows); }
int64_t groups_of_strip(const Pointwise& s) {
    if (s.weight_ic > s.ic)
        return groups(s);  // the parts of a sum are cut alike, whatever channels they have
    return std::clamp<int64_t>(strip_floats / (s.ic * max_rows), 1, groups(s));
}

// The start of some tiles of y, and the weights that they prefetch for the next panel: from the `fetched`th
// on so many lines with each block of channels of x.
struct Tiles {
    int64_t channel, pixel, count;
    const float* next_panel;
    int64_t fetched, lines_of_block;
};

// The weights of a vector of channels from those of all V, for channel k of x.
template <int V>
HWY_INLINE const float* weights_of(const float* const (&weight)[V], int v, int64_t k) {
    return (is_panel_one_block ? weight[0] + v * lanes : weight[v]) + k * block;
}

// Adds the products of channel k of R pixels to the sums.
template <int R, int V>
HWY_INLINE void add_channel(const float* x, const float* const (&weight)[V], int64_t k, Vec (&sums)[R][V]) {
    const Channels f;
    Vec column[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) column[v] = hn::LoadU(f, weights_of(weight, v, k));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const Vec pixel = hn::Set(f, x[r * block + k]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(pixel, column[v], sums[r][v]);
    }
}

// The same for all channels of a block; moves to the next block of x, which is `step` further. On Arm loads
// move past the weights.
constexpr bool moves_past_weights = HWY_TARGET == HWY_NEON;
#if HWY_TARGET == HWY_NEON
// For channels I and I + 1 of a vector, with their weights.
template <int I, int R, int V>
HWY_INLINE void add_two_lanes(const Vec (&pixels)[R], const float*& weight, Vec (&sums)[R][V]) {
    if constexpr (V == panel_vectors) {  // those of a channel follow those before
        Vec columns[4];
        load_vectors(weight, columns);
        add_lane_products<I>(pixels, {columns[0], columns[1]}, sums);
        add_lane_products<I + 1>(pixels, {columns[2], columns[3]}, sums);
    }
}
// The same with the pixels of the highest tile, each two vectors: those of six are in fours. `half` is the
// vector.
template <int I, int half, int V, int v>
HWY_INLINE void add_lane(const Four& a, const Four& b, const Four& c, Vec last, Vec column,
                         Vec (&sums)[max_rows][V]) {
    sums[0][v] = add_lane_product_of<I, half>(a, column, sums[0][v]);
    sums[1][v] = add_lane_product_of<I, half + 2>(a, column, sums[1][v]);
    sums[2][v] = add_lane_product_of<I, half>(b, column, sums[2][v]);
    sums[3][v] = add_lane_product_of<I, half + 2>(b, column, sums[3][v]);
    sums[4][v] = add_lane_product_of<I, half>(c, column, sums[4][v]);
    sums[5][v] = add_lane_product_of<I, half + 2>(c, column, sums[5][v]);
    sums[6][v] = add_lane_product<I>(last, column, sums[6][v]);
}
template <int I, int half, int V>
HWY_INLINE void add_two_lanes(const Four& a, const Four& b, const Four& c, Vec last, const float*& weight,
                              Vec (&sums)[max_rows][V]) {
    Vec columns[4];
    load_vectors(weight, columns);
    add_lane<I, half, V, 0>(a, b, c, last, columns[0], sums);
    add_lane<I, half, V, 1>(a, b, c, last, columns[1], sums);
    add_lane<I + 1, half, V, 0>(a, b, c, last, columns[2], sums);
    add_lane<I + 1, half, V, 1>(a, b, c, last, columns[3], sums);
}
template <int R, int V>
HWY_INLINE void add_block(const float*& x, int64_t step, const float* (&weight)[V], Vec (&sums)[R][V]) {
    static_assert(block == 2 * lanes && is_panel_one_block && max_rows == 7);
    if constexpr (R == max_rows && V == panel_vectors) {
        const Four a = load_four(x), b = load_four(x), c = load_four<0>(x);
        const Vec last[] = {hn::LoadU(Channels(), x + 2 * block),
                            hn::LoadU(Channels(), x + 2 * block + lanes)};
        x += step - 4 * block;
        add_two_lanes<0, 0>(a, b, c, last[0], weight[0], sums);
        add_two_lanes<2, 0>(a, b, c, last[0], weight[0], sums);
        add_two_lanes<0, 1>(a, b, c, last[1], weight[0], sums);
        add_two_lanes<2, 1>(a, b, c, last[1], weight[0], sums);
        return;
    }
    Vec lower[R], upper[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        lower[r] = hn::LoadU(Channels(), x + r * block);
        upper[r] = hn::LoadU(Channels(), x + r * block + lanes);
    }
    x += step;
    add_two_lanes<0>(lower, weight[0], sums);
    add_two_lanes<2>(lower, weight[0], sums);
    add_two_lanes<0>(upper, weight[0], sums);
    add_two_lanes<2>(upper, weight[0], sums);
}
#else
template <int R, int V>
HWY_INLINE void add_block(const float*& x, int64_t step, const float* const (&weight)[V], Vec (&sums)[R][V]) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < block; ++k) add_channel<R, V>(x, weight, k, sums);
    x += step;
}
#endif

template <int R, int V, class Fn>
HWY_INLINE void for_sums(Vec (&sums)[R][V], Fn fn) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) fn(sums[r][v], r, v);
}

template <int R, int V>
HWY_INLINE void finish(Activation activation, Vec (&sums)[R][V]) {
    if (activation == Activation::relu) for_sums(sums, [](Vec& y, int, int) HWY_ATTR { y = relu(y); });
    if (activation == Activation::relu6) for_sums(sums, [](Vec& y, int, int) HWY_ATTR { y = relu6(y); });
    if (activation == Activation::relu_keeps_nan)
        for_sums(sums, [](Vec& y, int, int) HWY_ATTR { y = relu_keeps_nan(y); });
    if (activation == Activation::relu6_keeps_nan)
        for_sums(sums, [](Vec& y, int, int) HWY_ATTR { y = relu6_keeps_nan(y); });
    if (activation == Activation::hswish) for_sums(sums, [](Vec& y, int, int) HWY_ATTR { y = hswish(y); });
}

// Tiles of R pixels and V vectors of channels.
template <int R, int V>
void compute(const Pointwise& s, const PointwiseData& d, const Tiles& at) {
    const Channels f;
    Vec bias[V];
    const float* weights[V];
    int64_t places[V];  // in y
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const int64_t channel = at.channel + v * lanes;
        places[v] = (channel / block * s.y_pixels + at.pixel) * block + channel % block;
        weights[v] = d.weight + channel / block * s.weight_ic * block + channel % block;
        bias[v] = load_bias(d.bias, channel, s.oc);
    }
    const int64_t block_of_x = s.pixels * block, lines = fetches_weights ? at.lines_of_block : 0;
    // Distance between blocks of output channels; the gap belongs to other channels of x.
    const int64_t block_of_weight = s.ic * block, gap = (s.weight_ic - s.ic) * block;
    const float *tile_of_x = d.x + at.pixel * block, *next_panel = at.next_panel;
    int64_t fetched = at.fetched;
    const auto fetch = [&] {
        for (int64_t i = 0; i < lines; ++i, fetched += floats_in_line) {
            const bool is_before_gap = is_panel_one_block || fetched < block_of_weight;
            __builtin_prefetch(next_panel + fetched + (is_before_gap ? 0 : gap), 0,
                               2);  // into the second cache
        }
    };
    for (int64_t i = 0; i < at.count; ++i, tile_of_x += R * block) {
        Vec sums[R][V];
        const float *weight[V], *x = tile_of_x;
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            weight[v] = weights[v];
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sums[r][v] = bias[v];
        }
        int64_t rest = s.ic - block;  // behind the current block
        for (; rest >= 0; rest -= block) {
            fetch();
            add_block<R, V>(x, block_of_x, weight, sums);
#pragma GCC unroll 2
            for (int v = 0; !moves_past_weights && v < V; ++v) weight[v] += block * block;
        }
        rest += block;
        if (rest > 0) fetch();
        for (int64_t k = 0; k < rest; ++k) add_channel<R, V>(x, weight, k, sums);
        const auto place = [&](int r, int v) {
            return (is_panel_one_block ? places[0] + v * lanes : places[v]) + (i * R + r) * block;
        };
        if (const float* residual = d.residual)
            for_sums(sums, [&](Vec& y, int r, int v)
                               HWY_ATTR { y = hn::Add(y, hn::LoadU(f, residual + place(r, v))); });
        finish(s.activation, sums);
        float* to = d.y;
        for_sums(sums, [&](Vec& y, int r, int v) HWY_ATTR { hn::StoreU(y, f, to + place(r, v)); });
    }
}

using Compute = void (*)(const Pointwise&, const PointwiseData&, const Tiles&);
template <int V, int... R>
constexpr std::array<Compute, max_rows> compute_by_rows(std::integer_sequence<int, R...>) {
    return {compute<R + 1, V>...};
}
constexpr std::array<Compute, max_rows> computes[] = {
    compute_by_rows<1>(std::make_integer_sequence<int, max_rows>()),
    compute_by_rows<2>(std::make_integer_sequence<int, max_rows>())};

int64_t count_items(const Pointwise& s) { return panels(s) * groups(s); }

// Tiles of one panel side by side.
struct PanelTiles {
    int64_t panel, first_group, last_group;
};

// A group of pixels begins there.
int64_t first_pixel(const Pointwise& s, int64_t group) { return s.pixels * group / groups(s); }

void activate_tiles(const Pointwise& s, const PointwiseData& d, int64_t panel, int64_t first_group,
                    int64_t last_group) {
    const int64_t begin = first_pixel(s, first_group), end = first_pixel(s, last_group);
    const int64_t first = panel * panel_channels, last = std::min(first + panel_channels, stored(s.oc));
    for (int64_t channel = first; channel < last; channel += block)
        activate(s.activation, d.y + (channel / block * s.y_pixels + begin) * block, (end - begin) * block);
}

// Each tile prefetches its part of the next panel, which hides the latency.
void compute_tiles(const Pointwise& s, const PointwiseData& d, const PanelTiles& t) {
    constexpr int64_t lines_of_block = block * panel_channels / floats_in_line;
    const int64_t channel = t.panel * panel_channels, tiles = t.last_group - t.first_group;
    const int64_t vectors = std::min(panel_channels, stored(s.oc) - channel) / lanes;
    const float* next_panel = d.weight + (t.panel + 1) % panels(s) * panel_channels * s.weight_ic;
    const int64_t lines = ceil_div(lines_of_block, tiles);
    const int64_t fetched_by_tile = ceil_div(s.ic, block) * lines * floats_in_line;
    const bool is_even = s.pixels % groups(s) == 0;
    int64_t activated = t.first_group;
    for (int64_t group = t.first_group, computed = group; group < t.last_group; group = computed) {
        const int64_t pixel = first_pixel(s, group), rows = first_pixel(s, group + 1) - pixel;
        const int64_t end = std::min(t.last_group, group + activated_together);
        for (++computed; computed < end; ++computed)
            if (!is_even && first_pixel(s, computed + 1) - first_pixel(s, computed) != rows) break;
        const int64_t fetched = (group - t.first_group) * fetched_by_tile;
        computes[vectors - 1][size_t(rows - 1)](
            s, d, {channel, pixel, computed - group, next_panel, fetched, lines});
        if (!is_apart(s.activation)) continue;
        if (computed < t.last_group && computed - activated < activated_together) continue;
        activate_tiles(s, d, t.panel, activated, computed);
        activated = computed;
    }
}

// Strip by strip, and in each one panel of weights after the other, which comes from beyond the second cache
// once for all pixels of the strip.
void compute_items(const Pointwise& s, const PointwiseData& d, int64_t first, int64_t last) {
    const int64_t width = groups_of_strip(s), items_of_strip = width * panels(s);
    for (int64_t item = first; item < last;) {
        const int64_t begin = item / items_of_strip * width, within = item % items_of_strip;
        const int64_t here = std::min(width, groups(s) - begin), group = begin + within % here;
        const int64_t count = std::min(begin + here - group, last - item);
        compute_tiles(s, d, {within / here, group, group + count});
        item += count;
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
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(pointwise_functions)());
    return best;
}

}  // namespace

int64_t Pointwise::items() const { return functions().count_items(*this); }

void pointwise(const Pointwise& shape, const PointwiseData& data, int64_t first, int64_t last) {
    functions().compute_items(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
