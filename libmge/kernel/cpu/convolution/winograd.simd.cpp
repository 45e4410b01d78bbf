// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/winograd.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/convolution/winograd.h"
#include "libmge/kernel/cpu/convolution/winograd_points-inl.h"
#include "libmge/kernel/cpu/convolution/winograd_products-inl.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/keep_nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t depth = winograd_depth, few_channels = winograd_few_channels, plane_gap = winograd_gap;
// Weights are fetched so many input channels ahead of their transformation.
constexpr int64_t fetched_ahead = 8;
// Arm's processors detect the stream of a panel's weights, which is one.
constexpr bool fetches_weights = HWY_TARGET != HWY_NEON;
// Floats of a line of the caches.
constexpr int64_t line = 64 / sizeof(float);

// Channels in a block of weights.
constexpr int64_t block = lanes == 16 ? 16 : 8;
// Channels of a tile that are side by side, then those of the next tile: all of a part, or a vector where
// products take single lanes.
constexpr int64_t chunk = products_at_once > 1 ? products_at_once : depth;

// Tiles are multiplied in groups of about equal size. The points of a group and a part of the channels of x
// are (36, channels / chunk, tiles, chunk); those of the weights (36, channels, panel_channels); a group's
// products (36, max_rows, panel_channels).
constexpr int64_t weights_plane(int64_t channels) { return channels * panel_channels + plane_gap; }
constexpr int64_t products_plane = max_rows * panel_channels;
constexpr int64_t products_group = winograd_points * products_plane;

int64_t groups_of(int64_t tiles) { return ceil_div(tiles, max_rows); }

struct Group {
    int64_t index, first, count;
};
// Groups with one tile more come first.
Group group_at(int64_t tiles, int64_t index) {
    const int64_t groups = groups_of(tiles), least = tiles / groups, longer = tiles % groups;
    return {index, least * index + std::min(index, longer), least + (index < longer ? 1 : 0)};
}

int64_t points_plane(const Winograd& w) { return max_rows * channels_of_part(w.ic, chunk) + plane_gap; }
int64_t points_group(const Winograd& w) { return winograd_points * points_plane(w); }

// Positions of the points of one of `tiles` tiles.
struct GroupPlaces {
    int64_t part, plane, tiles;
    HWY_INLINE int64_t of_channel(int64_t c) const {
        return c / depth * part + c % depth / chunk * chunk * tiles + c % chunk;
    }
};

void input(const Winograd& w, const float* x, TileRange strip, int64_t first, int64_t last, float* points) {
    const int64_t part = groups_of(strip.count) * points_group(w);
    for (int64_t i = first; i < last; ++i) {
        Group group = group_at(strip.count, i);
        const GroupPlaces places{part, points_plane(w), group.count};
        for (int64_t t = 0; t < group.count; ++t)
            input_tile(w, x, tile_at(w, strip.first + group.first + t),
                       points + i * points_group(w) + t * chunk, places);
    }
}

// The points of one vector of a panel's channels for one input channel.
template <int64_t plane>
HWY_INLINE void transform_weight(const float* g, float* to) {
    const F32 f;
    transform_square<3, window>(
        [](auto& g, auto& p) HWY_ATTR { weight_points(g, p); },
        [&](int64_t i, int64_t j) HWY_ATTR { return hn::LoadU(f, g + (i * 3 + j) * block); },
        [&](int64_t i, int64_t j, Vec p) HWY_ATTR { hn::Store(p, f, to + (i * window + j) * plane); });
}

// The points of `vectors` vectors of a panel's channels, for input channels from `c` on. Vectors of the same
// input channel follow each other: their points share lines, which go to the second cache only once then.
template <int64_t most_channels>
void transform_weights(const Winograd& w, const float* weight, int vectors, int64_t c, int64_t count,
                       float* points) {
    for (int64_t k = 0; k < count; ++k)
        for (int64_t first = 0; first < vectors * lanes; first += block) {
            const float* g = weight + first * w.ic * 9 + (c + k) * 9 * block;
#pragma GCC unroll 9
            for (int64_t at = 0; fetches_weights && at < 9 * block; at += line)
                hwy::Prefetch(g + fetched_ahead * 9 * block + at);
            for (int64_t v = 0; v < block; v += lanes)
                transform_weight<weights_plane(most_channels)>(g + v,
                                                               points + k * panel_channels + first + v);
        }
}

// For one point: products += points * weights for groups of R tiles and V vectors of channels; `=` for the
// first part of the channels of x. The next points come from the L2 cache or beyond.
struct Factors {
    const float *points, *weights;
    int64_t channels;  // whole blocks
    bool is_first;
    int64_t groups, group_floats;
    const float* next_points;  // after those of the last group
};

template <int R, int V>
HWY_INLINE void add_lines(const Factors& a, const float* next_points, Vec (&sums)[R][V]) {
    for (int64_t begin = 0; begin < a.channels; begin += line) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) hwy::Prefetch(next_points + r * chunk + begin);
        const int64_t end = std::min(begin + line, a.channels);
        for (int64_t k = begin; k < end; ++k)
            add_products<chunk>(a.points + k, a.weights + k * panel_channels, sums);
    }
}
// Points and weights are each one stream, which processors detect.
template <int R, int V>
HWY_INLINE void add_chunks(const Factors& a, Vec (&sums)[R][V]) {
    const float *points = a.points, *weights = a.weights;
    for (int64_t rest = a.channels; rest > 0; rest -= 2 * chunk) {  // a block
        add_more_products(points, weights, sums);
        add_more_products(points, weights, sums);
    }
}

struct Multiply {
    template <int R, int V>
    static void run(Factors a, float* products) {
        for (int64_t rest = a.groups; rest > 0;
             --rest, a.points += a.group_floats, products += products_group)
            multiply_group<R, V>(a, rest > 1 ? a.points + a.group_floats : a.next_points, products);
    }
    template <int R, int V>
    static HWY_INLINE void multiply_group(const Factors& a, const float* next_points, float* products) {
        const F32 f;
        Vec sums[R][V];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                sums[r][v] =
                    a.is_first ? hn::Zero(f) : hn::Load(f, products + r * panel_channels + v * lanes);
        if constexpr (chunk < line)
            add_chunks(a, sums);
        else
            add_lines(a, next_points, sums);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) hn::Store(sums[r][v], f, products + r * panel_channels + v * lanes);
    }
};
constexpr auto multiplies = kernels_by_size<Multiply>();

// Activations that are computed before a pixel is stored.
struct Unchanged {
    HWY_INLINE Vec operator()(Vec y) const { return y; }
};
struct Relu {
    // Max gives the number, or its second operand, if the first one is NaN.
    HWY_INLINE Vec operator()(Vec y) const { return hn::Max(y, hn::Zero(F32())); }
};
struct ReluKeepsNan {
    HWY_INLINE Vec operator()(Vec y) const { return at_least(hn::Zero(F32()), y); }
};

// A function of its own, which is computed when a row of pixels is stored.
struct Later : Unchanged {};

// One vector of channels of neighbouring pixels.
HWY_INLINE void activate_row(const Winograd& w, float* y, int64_t pixels) {
    if (w.y.pixel == lanes) return activate(w.activation, y, pixels * lanes);
    for (int64_t j = 0; j < pixels; ++j) activate(w.activation, y + j * w.y.pixel, lanes);
}

// Pixels of a row of y, one vector of channels of each. No residual: null.
struct RowPlace {
    float* y;
    const float* residual;
    int64_t pixel;
};

// Some pixels of a row of a tile; `count` may be a constant.
template <class Finish, class Count>
HWY_INLINE void store_pixels(const RowPlace to, Count count, const Finish& finish, Vec (&y)[winograd_tile]) {
    const F32 f;
    if (to.residual)
        for (int64_t j = 0; j < winograd_tile; ++j) {
            if (j == count) break;
            y[j] = hn::Add(y[j], hn::LoadU(f, to.residual + j * to.pixel));
        }
    for (int64_t j = 0; j < winograd_tile; ++j) {
        if (j == count) break;
        hn::StoreU(finish(y[j]), f, to.y + j * to.pixel);
    }
}

// One tile of one vector of channels.
template <class Finish>
HWY_INLINE void store_tile(const Winograd& w, const WinogradPanel& p, const Tile& tile, int64_t channel,
                           const float* products, const Finish& finish) {
    const F32 f;
    Vec half[winograd_tile][window], m[window], y[winograd_tile];
    for (int64_t j = 0; j < window; ++j) {
        for (int64_t i = 0; i < window; ++i) m[i] = hn::Load(f, products + (i * window + j) * products_plane);
        output_pixels(m, y);
        for (int64_t i = 0; i < winograd_tile; ++i) half[i][j] = y[i];
    }
    const Vec bias = p.bias ? hn::LoadU(f, p.bias + channel) : hn::Zero(f);
    const int64_t columns = std::min(winograd_tile, w.out_width - tile.column);
    const int64_t rows = std::min(winograd_tile, w.out_height - tile.row), row = w.y.row;
    const int64_t place =
        tile.image * w.y.image + w.y.of_channel(channel) + tile.row * row + tile.column * w.y.pixel;
    RowPlace to{p.y + place, p.residual ? p.residual + place : nullptr, w.y.pixel};
    for (int64_t i = 0; i < rows; ++i, to.y += row) {
        output_pixels(half[i], y);
        for (int64_t j = 0; j < winograd_tile; ++j) y[j] = hn::Add(y[j], bias);
        if (columns == winograd_tile)
            store_pixels(to, std::integral_constant<int64_t, winograd_tile>(), finish, y);
        else
            store_pixels(to, columns, finish, y);
        if constexpr (std::is_same_v<Finish, Later>) activate_row(w, to.y, columns);
        if (to.residual) to.residual += row;
    }
}

template <class Finish>
void store_tiles(const Winograd& w, const WinogradPanel& p, TileRange strip, int64_t panel,
                 const Finish& finish) {
    const int64_t channel = panel * panel_channels, groups = groups_of(strip.count);
    const int vectors = int(std::min(panel_channels, w.oc - channel) / lanes);
    for (int64_t g = 0; g < groups; ++g) {
        Group group = group_at(strip.count, g);
        for (int64_t t = 0; t < group.count; ++t) {
            Tile tile = tile_at(w, strip.first + group.first + t);
            for (int v = 0; v < vectors; ++v)
                store_tile(w, p, tile, channel + v * lanes,
                           p.products + g * products_group + t * panel_channels + v * lanes, finish);
        }
    }
}

void panel(const Winograd& w, const WinogradPanel& p, TileRange strip, int64_t panel) {
    const int64_t channel = panel * panel_channels, groups = groups_of(strip.count);
    const int64_t longer = strip.count % groups;  // groups with one tile more
    const int vectors = int(std::min(panel_channels, w.oc - channel) / lanes);
    const bool has_few_channels = w.ic <= few_channels;
    const int64_t plane_of_weights = weights_plane(has_few_channels ? few_channels : depth);
    const int64_t plane = points_plane(w), group_floats = points_group(w);
    for (int64_t c = 0; c < w.ic; c += depth) {
        const int64_t count = std::min(depth, w.ic - c);
        const auto transform = has_few_channels ? transform_weights<few_channels> : transform_weights<depth>;
        transform(w, p.weight, vectors, c, count, p.weights);
        const float* points = p.points + c / depth * groups * group_floats;
        for (int64_t i = 0; i < winograd_points; ++i) {
            const float* next_point = points + (i + 1) % winograd_points * plane;
            // Groups of one size each.
            for (int64_t begin = 0, end; begin < groups; begin = end) {
                end = begin < longer ? longer : groups;
                const float* at = points + begin * group_floats + i * plane;
                const Factors a{at,
                                p.weights + i * plane_of_weights,
                                count,
                                c == 0,
                                end - begin,
                                group_floats,
                                end < groups ? at + (end - begin) * group_floats : next_point};
                multiplies[size_t(vectors - 1)][size_t(group_at(strip.count, begin).count - 1)](
                    a, p.products + begin * products_group + i * products_plane);
            }
        }
    }
    if (w.activation == Activation::relu) return store_tiles(w, p, strip, panel, Relu());
    if (w.activation == Activation::relu_keeps_nan) return store_tiles(w, p, strip, panel, ReluKeepsNan());
    if (w.activation == Activation::none) return store_tiles(w, p, strip, panel, Unchanged());
    store_tiles(w, p, strip, panel, Later());
}

}  // namespace

WinogradFunctions winograd_functions() { return {panel_channels, max_rows, chunk, input, panel}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(winograd_functions);
const WinogradFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(winograd_functions)());
    return best;
}

}  // namespace

int64_t Winograd::panels() const { return ceil_div(oc, functions().panel_channels); }
int64_t Winograd::blocks_of_panel() const { return functions().panel_channels / y.block; }
int64_t Winograd::groups(int64_t tiles) const { return ceil_div(tiles, functions().group_tiles); }
int64_t Winograd::point_floats(int64_t tiles) const {
    return ceil_div(ic, winograd_depth) * groups(tiles) * winograd_points *
           (functions().group_tiles * channels_of_part(ic, functions().chunk) + winograd_gap);
}
int64_t Winograd::weight_floats() const {
    const int64_t channels = ic <= winograd_few_channels ? winograd_few_channels : winograd_depth;
    return winograd_points * (channels * functions().panel_channels + winograd_gap);
}
int64_t Winograd::product_floats(int64_t tiles) const {
    return groups(tiles) * winograd_points * functions().group_tiles * functions().panel_channels;
}

void winograd_input(const Winograd& w, const float* x, TileRange strip, int64_t first, int64_t last,
                    float* points) {
    functions().input(w, x, strip, first, last, points);
}
void winograd_panel(const Winograd& w, const WinogradPanel& p, TileRange strip, int64_t panel) {
    functions().panel(w, p, strip, panel);
}

}  // namespace mge::cpu
#endif
