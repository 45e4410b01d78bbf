// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/winograd.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//

#include "hwy/cache_control.h"
#include "hwy/highway.h"
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

constexpr int64_t depth = winograd_depth, plane_gap = winograd_gap;
// Weights are fetched so many input channels ahead of their transformation.
constexpr int64_t fetched_ahead = 8;
// Floats of a line of the caches.
constexpr int64_t line = 64 / sizeof(float);

// Tiles are multiplied in groups of about equal size. The points of a group and a part of the channels of x
// are (36, max_rows, depth); those of the weights (36, depth, panel_channels); a group's products (36,
// max_rows, panel_channels).
constexpr int64_t points_plane = max_rows * depth + plane_gap, points_group = winograd_points * points_plane;
constexpr int64_t weights_plane = depth * panel_channels + plane_gap;
constexpr int64_t products_plane = max_rows * panel_channels;
constexpr int64_t products_group = winograd_points * products_plane;

int64_t groups_of(int64_t tiles) { return (tiles + max_rows - 1) / max_rows; }

struct Group {
    int64_t index, first, count;
};
Group group_at(int64_t tiles, int64_t index) {
    int64_t groups = groups_of(tiles), first = tiles * index / groups;
    return {index, first, tiles * (index + 1) / groups - first};
}

void input(const Winograd& w, const float* x, TileRange strip, int64_t first, int64_t last, float* points) {
    const PointPlaces places{depth, groups_of(strip.count) * points_group, points_plane};
    for (int64_t i = first; i < last; ++i) {
        Group group = group_at(strip.count, i);
        for (int64_t t = 0; t < group.count; ++t)
            input_tile(w, x, tile_at(w, strip.first + group.first + t), points + i * points_group + t * depth,
                       places);
    }
}

// The points of one vector of a panel's channels for one input channel.
HWY_INLINE void transform_weight(const float* g, int64_t block, float* to) {
    const F32 f;
    transform_square<3, window>([](auto& g, auto& p) HWY_ATTR { weight_points(g, p); },
                                [&](int64_t i, int64_t j)
                                    HWY_ATTR { return hn::LoadU(f, g + (i * 3 + j) * block); },
                                [&](int64_t i, int64_t j, Vec p)
                                    HWY_ATTR { hn::Store(p, f, to + (i * window + j) * weights_plane); });
}

// The points of `vectors` vectors of a panel's channels, for input channels from `c` on. Vectors of the same
// input channel follow each other: their points share lines, which go to the second cache only once then.
void transform_weights(const Winograd& w, const float* weight, int vectors, int64_t c, int64_t count,
                       float* points) {
    const int64_t block = w.y.block, blocks = w.ic * 9 * block;
    for (int64_t k = 0; k < count; ++k)
        for (int v = 0; v < vectors; ++v) {
            const int64_t first = v * lanes;
            const float* g = weight + first / block * blocks + (c + k) * 9 * block + first % block;
            for (int64_t tap = 0; tap < 9; ++tap) hwy::Prefetch(g + (fetched_ahead * 9 + tap) * block);
            transform_weight(g, block, points + k * panel_channels + first);
        }
}

// For one point: products += points * weights for R tiles and V vectors of channels; `=` for the first part
// of the channels of x. The next points come from the L2 cache or beyond.
struct Factors {
    const float *points, *weights;
    int64_t channels;  // whole blocks
    bool is_first;
    const float* next_points;
};

struct Multiply {
    template <int R, int V>
    static void run(const Factors& a, float* products) {
        const F32 f;
        Vec sums[R][V];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                sums[r][v] =
                    a.is_first ? hn::Zero(f) : hn::Load(f, products + r * panel_channels + v * lanes);
        for (int64_t begin = 0; begin < a.channels; begin += line) {
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) hwy::Prefetch(a.next_points + r * depth + begin);
            const int64_t end = std::min(begin + line, a.channels);
            for (int64_t k = begin; k < end; k += products_at_once)
                add_more_products<depth>(a.points + k, a.weights + k * panel_channels, sums);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) hn::Store(sums[r][v], f, products + r * panel_channels + v * lanes);
    }
};
constexpr auto multiplies = kernels_by_size<Multiply>();

HWY_INLINE Vec finish(const Winograd& w, Vec y) {
    // Max gives the number, or its second operand, if the first one is NaN.
    if (w.activation == Activation::relu) return hn::Max(y, hn::Zero(F32()));
    if (w.activation == Activation::relu_keeps_nan) return at_least(hn::Zero(F32()), y);
    return y;
}

// Activations that are functions of their own, on one vector of channels of neighbouring pixels.
HWY_INLINE void activate_row(const Winograd& w, float* y, int64_t pixels) {
    if (w.activation == Activation::none || without_nan(w.activation) == Activation::relu) return;
    if (w.y.pixel == lanes) return activate(w.activation, y, pixels * lanes);
    for (int64_t j = 0; j < pixels; ++j) activate(w.activation, y + j * w.y.pixel, lanes);
}

// One tile of one vector of channels.
HWY_INLINE void store_tile(const Winograd& w, const WinogradPanel& p, const Tile& tile, int64_t channel,
                           const float* products) {
    const F32 f;
    Vec half[winograd_tile][window], m[window], y[winograd_tile];
    for (int64_t j = 0; j < window; ++j) {
        for (int64_t i = 0; i < window; ++i) m[i] = hn::Load(f, products + (i * window + j) * products_plane);
        output_pixels(m, y);
        for (int64_t i = 0; i < winograd_tile; ++i) half[i][j] = y[i];
    }
    const Vec bias = p.bias ? hn::LoadU(f, p.bias + channel) : hn::Zero(f);
    const int64_t columns = std::min(winograd_tile, w.out_width - tile.column);
    const int64_t rows = std::min(winograd_tile, w.out_height - tile.row);
    int64_t place =
        tile.image * w.y.image + w.y.of_channel(channel) + tile.row * w.y.row + tile.column * w.y.pixel;
    for (int64_t i = 0; i < rows; ++i, place += w.y.row) {
        output_pixels(half[i], y);
        for (int64_t j = 0; j < winograd_tile; ++j) {
            if (j == columns) break;
            Vec sum = hn::Add(y[j], bias);
            if (p.residual) sum = hn::Add(sum, hn::LoadU(f, p.residual + place + j * w.y.pixel));
            hn::StoreU(finish(w, sum), f, p.y + place + j * w.y.pixel);
        }
        activate_row(w, p.y + place, columns);
    }
}

void panel(const Winograd& w, const WinogradPanel& p, TileRange strip, int64_t panel) {
    const int64_t channel = panel * panel_channels, groups = groups_of(strip.count);
    const int vectors = int(std::min(panel_channels, w.oc - channel) / lanes);
    for (int64_t c = 0; c < w.ic; c += depth) {
        const int64_t count = std::min(depth, w.ic - c);
        transform_weights(w, p.weight, vectors, c, count, p.weights);
        const float* points = p.points + c / depth * groups * points_group;
        for (int64_t i = 0; i < winograd_points; ++i)
            for (int64_t g = 0; g < groups; ++g) {
                const float* at = points + g * points_group + i * points_plane;
                const float* next_point = points + (i + 1) % winograd_points * points_plane;
                Factors a{at, p.weights + i * weights_plane, count, c == 0,
                          g + 1 < groups ? at + points_group : next_point};
                multiplies[size_t(vectors - 1)][size_t(group_at(strip.count, g).count - 1)](
                    a, p.products + g * products_group + i * products_plane);
            }
    }
    for (int64_t g = 0; g < groups; ++g) {
        Group group = group_at(strip.count, g);
        for (int64_t t = 0; t < group.count; ++t) {
            Tile tile = tile_at(w, strip.first + group.first + t);
            for (int v = 0; v < vectors; ++v)
                store_tile(w, p, tile, channel + v * lanes,
                           p.products + g * products_group + t * panel_channels + v * lanes);
        }
    }
}

}  // namespace

WinogradFunctions winograd_functions() { return {panel_channels, max_rows, input, panel}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(winograd_functions);
const WinogradFunctions& functions() {
    static const WinogradFunctions best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(winograd_functions)();
    }();
    return best;
}

}  // namespace

int64_t Winograd::panels() const {
    return (oc + functions().panel_channels - 1) / functions().panel_channels;
}
int64_t Winograd::blocks_of_panel() const { return functions().panel_channels / y.block; }
int64_t Winograd::groups(int64_t tiles) const {
    return (tiles + functions().group_tiles - 1) / functions().group_tiles;
}
int64_t Winograd::point_floats(int64_t tiles) const {
    return (ic + winograd_depth - 1) / winograd_depth * groups(tiles) * winograd_points *
           (functions().group_tiles * winograd_depth + winograd_gap);
}
int64_t Winograd::weight_floats() const {
    return winograd_points * (winograd_depth * functions().panel_channels + winograd_gap);
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
