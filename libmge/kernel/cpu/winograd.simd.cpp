// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/winograd.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>
#include <cstring>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t window = winograd_tile + 2, depth = winograd_depth, plane_gap = winograd_gap;
// Polynomials are evaluated at 0, at plus and minus these two, and at infinity. With 1 and 2, which need
// fewer operations, the error would be twice as large.
constexpr float near_point = 0.625f, far_point = 1.5f;
constexpr float near2 = near_point * near_point, far2 = far_point * far_point;
// Weights are fetched so many input channels ahead of their transformation.
constexpr int64_t fetched_ahead = 8;

using F32 = hn::CappedTag<float, 16>;
using Vec = hn::Vec<F32>;
constexpr int64_t lanes = hn::MaxLanes(F32());
constexpr int panel_vectors = 2;
constexpr int64_t panel_channels = panel_vectors * lanes;
// Twice as many sums, a panel's weights and one point fit the registers.
constexpr int max_rows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;

// Tiles are multiplied in groups of about equally many. The points of a group and a part of the channels of x
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

HWY_INLINE Vec times(float factor, Vec a) { return hn::Mul(hn::Set(F32(), factor), a); }
HWY_INLINE Vec plus_times(Vec a, float factor, Vec b) { return hn::MulAdd(hn::Set(F32(), factor), b, a); }

// B^T d
HWY_INLINE void input_points(const Vec (&d)[6], Vec (&p)[6]) {
    Vec near = plus_times(d[4], -far2, d[2]), near_odd = plus_times(d[3], -far2, d[1]);
    Vec far = plus_times(d[4], -near2, d[2]), far_odd = plus_times(d[3], -near2, d[1]);
    p[0] = plus_times(plus_times(d[4], -(near2 + far2), d[2]), near2 * far2, d[0]);
    p[1] = plus_times(near, near_point, near_odd);
    p[2] = plus_times(near, -near_point, near_odd);
    p[3] = plus_times(far, far_point, far_odd);
    p[4] = plus_times(far, -far_point, far_odd);
    p[5] = plus_times(plus_times(d[5], -(near2 + far2), d[3]), near2 * far2, d[1]);
}

// G g
HWY_INLINE void weight_points(const Vec (&g)[3], Vec (&p)[6]) {
    constexpr float at_near = 1 / (2 * near2 * (near2 - far2)), at_far = 1 / (2 * far2 * (far2 - near2));
    Vec near = plus_times(times(at_near, g[0]), at_near * near2, g[2]);
    Vec far = plus_times(times(at_far, g[0]), at_far * far2, g[2]);
    p[0] = times(1 / (near2 * far2), g[0]);
    p[1] = plus_times(near, at_near * near_point, g[1]);
    p[2] = plus_times(near, -at_near * near_point, g[1]);
    p[3] = plus_times(far, at_far * far_point, g[1]);
    p[4] = plus_times(far, -at_far * far_point, g[1]);
    p[5] = g[2];
}

// A^T m
HWY_INLINE void output_pixels(const Vec (&m)[6], Vec (&y)[4]) {
    Vec near = hn::Add(m[1], m[2]), near_odd = hn::Sub(m[1], m[2]);
    Vec far = hn::Add(m[3], m[4]), far_odd = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(hn::Add(m[0], near), far);
    y[1] = plus_times(times(near_point, near_odd), far_point, far_odd);
    y[2] = plus_times(times(near2, near), far2, far);
    y[3] = plus_times(plus_times(m[5], near2 * near_point, near_odd), far2 * far_point, far_odd);
}

// Where a tile begins, in pixels of y.
struct Tile {
    int64_t image, row, column;
};
HWY_INLINE Tile tile_at(const Winograd& w, int64_t tile) {
    int64_t in_image = tile % w.tiles_of_image();
    return {tile / w.tiles_of_image(), in_image / w.tile_columns() * winograd_tile,
            in_image % w.tile_columns() * winograd_tile};
}

// Pixels of x with one vector of channels each, and how far apart they lie.
struct Patch {
    const float* first;
    int64_t row, pixel;
};

HWY_INLINE void transform_patch(const Patch& x, float* points) {
    const F32 f;
    Vec half[window][window], d[window], p[window];
    for (int64_t j = 0; j < window; ++j) {
        for (int64_t i = 0; i < window; ++i) d[i] = hn::LoadU(f, x.first + i * x.row + j * x.pixel);
        input_points(d, p);
        for (int64_t i = 0; i < window; ++i) half[i][j] = p[i];
    }
    for (int64_t i = 0; i < window; ++i) {
        input_points(half[i], p);
        for (int64_t j = 0; j < window; ++j) hn::Store(p[j], f, points + (i * window + j) * points_plane);
    }
}

// Copies what lies inside of x; the rest of `copy` is zero.
HWY_INLINE void copy_inside(const Winograd& w, const float* image, int64_t row, int64_t column, float* copy) {
    const F32 f;
    for (int64_t i = std::max<int64_t>(0, -row); i < std::min(window, w.height - row); ++i)
        for (int64_t j = std::max<int64_t>(0, -column); j < std::min(window, w.width - column); ++j)
            hn::Store(hn::LoadU(f, image + (row + i) * w.x.row + (column + j) * w.x.pixel), f,
                      copy + (i * window + j) * lanes);
}

// Points go to `to`, those of the next part of the channels `next` further.
HWY_INLINE void input_tile(const Winograd& w, const float* x, const Tile& tile, float* to, int64_t next) {
    int64_t row = tile.row - w.pad_height, column = tile.column - w.pad_width;
    bool is_inside = row >= 0 && column >= 0 && row + window <= w.height && column + window <= w.width;
    HWY_ALIGN float copy[winograd_points * lanes];
    if (!is_inside) std::memset(copy, 0, sizeof copy);
    for (int64_t c = 0; c < w.ic; c += lanes) {
        const float* image = x + tile.image * w.x.image + w.x.of_channel(c);
        float* points = to + c / depth * next + c % depth;
        if (is_inside) {
            transform_patch({image + row * w.x.row + column * w.x.pixel, w.x.row, w.x.pixel}, points);
        } else {
            copy_inside(w, image, row, column, copy);
            transform_patch({copy, window * lanes, lanes}, points);
        }
    }
}

void input(const Winograd& w, const float* x, TileRange strip, int64_t first, int64_t last, float* points) {
    const int64_t next = groups_of(strip.count) * points_group;
    for (int64_t i = first; i < last; ++i) {
        Group group = group_at(strip.count, i);
        for (int64_t t = 0; t < group.count; ++t)
            input_tile(w, x, tile_at(w, strip.first + group.first + t), points + i * points_group + t * depth,
                       next);
    }
}

// The points of `vectors` vectors of channels from `channel` on, for input channels from `c` on.
void transform_weights(const Winograd& w, const float* weight, int64_t channel, int vectors, int64_t c,
                       int64_t count, float* points) {
    const F32 f;
    for (int v = 0; v < vectors; ++v) {
        const int64_t first = channel + v * lanes, block = w.y.block;
        const float* g = weight + (first / block * w.ic + c) * 9 * block + first % block;
        for (int64_t k = 0; k < count; ++k, g += 9 * block) {
            for (int64_t tap = 0; tap < 9; ++tap) hwy::Prefetch(g + (fetched_ahead * 9 + tap) * block);
            Vec half[window][3], column[3], p[window];
            for (int j = 0; j < 3; ++j) {
                for (int i = 0; i < 3; ++i) column[i] = hn::LoadU(f, g + (i * 3 + j) * block);
                weight_points(column, p);
                for (int64_t i = 0; i < window; ++i) half[i][j] = p[i];
            }
            float* to = points + k * panel_channels + v * lanes;
            for (int64_t i = 0; i < window; ++i) {
                weight_points(half[i], p);
                for (int64_t j = 0; j < window; ++j)
                    hn::Store(p[j], f, to + (i * window + j) * weights_plane);
            }
        }
    }
}

// Of one point: products += points * weights for R tiles and V vectors of channels; `=` at the first part of
// the channels of x.
struct Factors {
    const float *points, *weights;
    int64_t channels;
    bool is_first;
};
template <int R, int V>
void multiply(const Factors& a, float* products) {
    const F32 f;
    Vec sums[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            sums[r][v] = a.is_first ? hn::Zero(f) : hn::Load(f, products + r * panel_channels + v * lanes);
    for (int64_t k = 0; k < a.channels; ++k) {
        Vec column[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) column[v] = hn::Load(f, a.weights + k * panel_channels + v * lanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            Vec point = hn::Set(f, a.points[r * depth + k]);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(point, column[v], sums[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) hn::Store(sums[r][v], f, products + r * panel_channels + v * lanes);
}

using Multiply = void (*)(const Factors&, float*);
template <int V, int... R>
constexpr std::array<Multiply, max_rows> multiply_by_rows(std::integer_sequence<int, R...>) {
    return {multiply<R + 1, V>...};
}
constexpr std::array<Multiply, max_rows> multiplies[] = {
    multiply_by_rows<1>(std::make_integer_sequence<int, max_rows>()),
    multiply_by_rows<2>(std::make_integer_sequence<int, max_rows>())};

HWY_INLINE Vec finish(const Winograd& w, Vec y) {
    if (w.activation != Activation::relu) return y;
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(F32())), y);  // 0 for NaN
}

// Activations that are functions of their own, on one vector of channels of neighbouring pixels.
HWY_INLINE void activate_row(const Winograd& w, float* y, int64_t pixels) {
    if (w.activation == Activation::none || w.activation == Activation::relu) return;
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
        transform_weights(w, p.weight, channel, vectors, c, count, p.weights);
        const float* points = p.points + c / depth * groups * points_group;
        for (int64_t i = 0; i < winograd_points; ++i)
            for (int64_t g = 0; g < groups; ++g) {
                Factors a{points + g * points_group + i * points_plane, p.weights + i * weights_plane, count,
                          c == 0};
                multiplies[vectors - 1][size_t(group_at(strip.count, g).count - 1)](
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
