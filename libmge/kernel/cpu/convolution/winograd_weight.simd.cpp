// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/winograd_weight.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/winograd_points-inl.h"
#include "libmge/kernel/cpu/convolution/winograd_products-inl.h"
#include "libmge/kernel/cpu/convolution/winograd_weight.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Channels of x whose sums with a panel of channels of y, 74 KB on AVX2, stay in the L2 cache.
constexpr int64_t chunk_channels = 32;
constexpr int64_t taps = 9;

// Points are (chunk or panel, 36, tiles of a strip, channels), sums (36, channels of the chunk, channels of
// the panel).
PointPlaces x_places(const WinogradWeight& w) {
    int64_t plane = w.strip * chunk_channels + winograd_gap;
    return {chunk_channels, winograd_points * plane, plane};
}
PointPlaces dy_places(const WinogradWeight& w) {
    int64_t plane = w.strip * panel_channels + winograd_gap;
    return {panel_channels, winograd_points * plane, plane};
}
constexpr int64_t sums_plane = chunk_channels * panel_channels + winograd_gap;

struct Pair {
    int64_t chunk, panel, rows;
    int vectors;
};
Pair pair_at(const Winograd& w, int64_t i) {
    const int64_t panels = ceil_div(w.oc, panel_channels);
    Pair pair{i / panels, i % panels, 0, 0};
    pair.rows = std::min(chunk_channels, w.ic - pair.chunk * chunk_channels);
    pair.vectors = int(std::min(panel_channels, w.oc - pair.panel * panel_channels) / lanes);
    return pair;
}

void pack(const RowBlock& rows) {
    transpose_rows(rows.from, rows.stride, rows.rows, rows.columns, rows.to, rows.step);
}

// The points of a tile of dy.
HWY_INLINE void output_tile(const Winograd& w, const float* dy, const Tile& tile, float* to,
                            const PointPlaces& places) {
    transform_tile<winograd_tile>(w.y, {w.oc, w.out_height, w.out_width}, dy, tile, to, places,
                                  [](auto& y, auto& p) HWY_ATTR { output_points(y, p); });
}

void points(const WinogradWeight& w, const float* x, const float* dy, TileRange strip, int64_t first,
            int64_t last, float* x_points, float* dy_points) {
    const PointPlaces of_x = x_places(w), of_dy = dy_places(w);
    for (int64_t t = first; t < last; ++t) {
        const Tile tile = tile_at(w.shape, strip.first + t);
        input_tile(w.shape, x, tile, x_points + t * chunk_channels, of_x);
        output_tile(w.shape, dy, tile, dy_points + t * panel_channels, of_dy);
    }
}

// For one point: sums (R, V vectors) += the products of R channels of x and V vectors of channels of dy, over
// the tiles. The sum of a strip is computed separately and then added, which limits the growth of rounding
// errors.
struct Columns {
    const float *x, *dy;
    int64_t tiles;
    bool begins;
};
struct Multiply {
    template <int R, int V>
    static void run(const Columns& a, float* to) {
        const F32 f;
        Vec sums[R][V];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sums[r][v] = hn::Zero(f);
        for (int64_t t = 0; t < a.tiles; ++t)
            add_products<1>(a.x + t * chunk_channels, a.dy + t * panel_channels, sums);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) {
                float* sum = to + r * panel_channels + v * lanes;
                hn::Store(a.begins ? sums[r][v] : hn::Add(hn::Load(f, sum), sums[r][v]), f, sum);
            }
    }
};
constexpr auto multiplies = kernels_by_size<Multiply>();

void sums(const WinogradWeight& w, const float* x_points, const float* dy_points, int64_t tiles, int64_t i,
          bool begins, float* to) {
    const Pair pair = pair_at(w.shape, i);
    const PointPlaces of_x = x_places(w), of_dy = dy_places(w);
    const int64_t groups = ceil_div(pair.rows, max_rows);
    for (int64_t p = 0; p < winograd_points; ++p) {
        const float* x = x_points + pair.chunk * of_x.part + p * of_x.plane;
        const float* dy = dy_points + pair.panel * of_dy.part + p * of_dy.plane;
        for (int64_t g = 0; g < groups; ++g) {
            const int64_t row = pair.rows * g / groups, rows = pair.rows * (g + 1) / groups - row;
            multiplies[size_t(pair.vectors - 1)][size_t(rows - 1)](
                {x + row, dy, tiles, begins}, to + p * sums_plane + row * panel_channels);
        }
    }
}

// The 9 weights of one channel of x and a vector of channels of y.
HWY_INLINE void finish_weights(const float* sums, float* to) {
    const F32 f;
    transform_square<window, 3>(
        [](auto& s, auto& g) HWY_ATTR { weight_gradient(s, g); },
        [&](int64_t i, int64_t j) HWY_ATTR { return hn::Load(f, sums + (i * window + j) * sums_plane); },
        [&](int64_t i, int64_t j, Vec g) HWY_ATTR { hn::Store(g, f, to + (i * 3 + j) * lanes); });
}

void finish(const WinogradWeight& w, const float* sums, int64_t i, float* dweight) {
    const Pair pair = pair_at(w.shape, i);
    HWY_ALIGN float weights[chunk_channels * taps * lanes];
    for (int v = 0; v < pair.vectors; ++v) {
        for (int64_t row = 0; row < pair.rows; ++row)
            finish_weights(sums + row * panel_channels + v * lanes, weights + row * taps * lanes);
        const int64_t channel = pair.panel * panel_channels + v * lanes, step = w.shape.ic * taps;
        float* to = dweight + channel * step + pair.chunk * chunk_channels * taps;
        for (int64_t c = 0; c < lanes; c += 4)
            for (int64_t k = 0; k < pair.rows * taps; k += 4)
                transpose(weights + k * lanes + c, lanes, to + c * step + k, step);
    }
}

}  // namespace

WinogradWeightFunctions winograd_weight_functions() {
    return {chunk_channels, panel_channels, pack, points, sums, finish};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(winograd_weight_functions);
const WinogradWeightFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(winograd_weight_functions)());
    return best;
}

int64_t chunks(const Winograd& w) { return ceil_div(w.ic, functions().chunk_channels); }
int64_t panels(const Winograd& w) { return ceil_div(w.oc, functions().panel_channels); }

}  // namespace

int64_t WinogradWeight::pairs() const { return chunks(shape) * panels(shape); }
int64_t WinogradWeight::x_floats() const {
    return chunks(shape) * winograd_points * (strip * functions().chunk_channels + winograd_gap);
}
int64_t WinogradWeight::dy_floats() const {
    return panels(shape) * winograd_points * (strip * functions().panel_channels + winograd_gap);
}
int64_t WinogradWeight::sum_floats() const {
    return winograd_points * (functions().chunk_channels * functions().panel_channels + winograd_gap);
}

void pack_row_block(const RowBlock& rows) { functions().pack(rows); }
void winograd_weight_points(const WinogradWeight& w, const float* x, const float* dy, TileRange strip,
                            int64_t first, int64_t last, float* x_points, float* dy_points) {
    functions().points(w, x, dy, strip, first, last, x_points, dy_points);
}
void winograd_weight_sums(const WinogradWeight& w, const float* x_points, const float* dy_points,
                          int64_t tiles, int64_t pair, bool begins, float* sums) {
    functions().sums(w, x_points, dy_points, tiles, pair, begins, sums);
}
void winograd_weight_finish(const WinogradWeight& w, const float* sums, int64_t pair, float* dweight) {
    functions().finish(w, sums, pair, dweight);
}

}  // namespace mge::cpu
#endif
