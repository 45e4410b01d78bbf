// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's F(4×4, 3×3), between tiles and their 36 points. Included by *.simd.cpp files
// after foreach_target.h and once per instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_WINOGRAD_POINTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_WINOGRAD_POINTS_H
#undef MGE_KERNEL_CPU_WINOGRAD_POINTS_H
#else
#define MGE_KERNEL_CPU_WINOGRAD_POINTS_H
#endif

#include <algorithm>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t window = winograd_tile + 2;
// Polynomials are evaluated at 0, at plus and minus these two, and at infinity. With 1 and 2, which need
// fewer operations, the error would be twice as large.
constexpr float near_point = 0.625f, far_point = 1.5f;
constexpr float near2 = near_point * near_point, far2 = far_point * far_point;
constexpr float at_zero = 1 / (near2 * far2);
constexpr float at_near = 1 / (2 * near2 * (near2 - far2)), at_far = 1 / (2 * far2 * (far2 - near2));

using F32 = hn::CappedTag<float, 16>;
using Vec = hn::Vec<F32>;
constexpr int64_t lanes = hn::MaxLanes(F32());
constexpr int panel_vectors = 2;
constexpr int64_t panel_channels = panel_vectors * lanes;
// Twice as many sums, a panel's weights and one point fit the registers.
constexpr int max_rows = HWY_TARGET <= HWY_AVX3 ? 14 : HWY_TARGET == HWY_NEON ? 8 : 6;

HWY_INLINE Vec times(float factor, Vec a) { return hn::Mul(hn::Set(F32(), factor), a); }
HWY_INLINE Vec plus_times(Vec a, float factor, Vec b) { return hn::MulAdd(hn::Set(F32(), factor), b, a); }

#if HWY_TARGET == HWY_NEON
// Arm's fused multiply-adds write over what they add to, which takes a copy if that is needed again. So sums
// and differences here are of products.

// B^T d
HWY_INLINE void input_points(const Vec (&d)[6], Vec (&p)[6]) {
    Vec near_odd = plus_times(times(near_point, d[3]), -near_point * far2, d[1]);
    Vec far_odd = plus_times(times(far_point, d[3]), -far_point * near2, d[1]);
    Vec near = plus_times(d[4], -far2, d[2]), far = plus_times(d[4], -near2, d[2]);
    p[0] = plus_times(plus_times(d[4], -(near2 + far2), d[2]), near2 * far2, d[0]);
    p[1] = hn::Add(near, near_odd);
    p[2] = hn::Sub(near, near_odd);
    p[3] = hn::Add(far, far_odd);
    p[4] = hn::Sub(far, far_odd);
    p[5] = plus_times(plus_times(d[5], -(near2 + far2), d[3]), near2 * far2, d[1]);
}

// G g without the factors of points, which output_pixels() has: where tiles are few, weights are most of the
// work.
HWY_INLINE void weight_points(const Vec (&g)[3], Vec (&p)[6]) {
    Vec near = plus_times(times(1 / near_point, g[0]), near_point, g[2]);
    Vec far = plus_times(times(1 / far_point, g[0]), far_point, g[2]);
    p[0] = g[0];
    p[1] = hn::Add(near, g[1]);
    p[2] = hn::Sub(near, g[1]);
    p[3] = hn::Add(far, g[1]);
    p[4] = hn::Sub(far, g[1]);
    p[5] = g[2];
}

// A^T m
HWY_INLINE void output_pixels(const Vec (&m)[6], Vec (&y)[4]) {
    constexpr float to_near = at_near * near_point, to_far = at_far * far_point;
    Vec near = hn::Add(m[1], m[2]), near_odd = hn::Sub(m[1], m[2]);
    Vec far = hn::Add(m[3], m[4]), far_odd = hn::Sub(m[3], m[4]);
    y[0] = plus_times(plus_times(times(at_zero, m[0]), to_near, near), to_far, far);
    y[1] = plus_times(times(to_near * near_point, near_odd), to_far * far_point, far_odd);
    y[2] = plus_times(times(to_near * near2, near), to_far * far2, far);
    y[3] = plus_times(plus_times(m[5], to_near * near2 * near_point, near_odd), to_far * far2 * far_point,
                      far_odd);
}
#else
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
    Vec near = plus_times(times(at_near, g[0]), at_near * near2, g[2]);
    Vec far = plus_times(times(at_far, g[0]), at_far * far2, g[2]);
    p[0] = times(at_zero, g[0]);
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
#endif

// G^T p
HWY_INLINE void weight_gradient(const Vec (&p)[6], Vec (&g)[3]) {
    Vec near = hn::Add(p[1], p[2]), near_odd = hn::Sub(p[1], p[2]);
    Vec far = hn::Add(p[3], p[4]), far_odd = hn::Sub(p[3], p[4]);
    g[0] = plus_times(plus_times(times(at_zero, p[0]), at_near, near), at_far, far);
    g[1] = plus_times(times(at_near * near_point, near_odd), at_far * far_point, far_odd);
    g[2] = plus_times(plus_times(p[5], at_near * near2, near), at_far * far2, far);
}

// A y
HWY_INLINE void output_points(const Vec (&y)[4], Vec (&p)[6]) {
    Vec near = plus_times(y[0], near2, y[2]), near_odd = plus_times(y[1], near2, y[3]);
    Vec far = plus_times(y[0], far2, y[2]), far_odd = plus_times(y[1], far2, y[3]);
    p[0] = y[0];
    p[1] = plus_times(near, near_point, near_odd);
    p[2] = plus_times(near, -near_point, near_odd);
    p[3] = plus_times(far, far_point, far_odd);
    p[4] = plus_times(far, -far_point, far_odd);
    p[5] = y[3];
}

// The start of a tile, in pixels of y.
struct Tile {
    int64_t image, row, column;
};
HWY_INLINE Tile tile_at(const Winograd& w, int64_t tile) {
    int64_t in_image = tile % w.tiles_of_image();
    return {tile / w.tiles_of_image(), in_image / w.tile_columns() * winograd_tile,
            in_image % w.tile_columns() * winograd_tile};
}

// Positions of points: those of channel c are at c / channels * part + c % channels, and `plane` apart.
struct PointPlaces {
    int64_t channels, part, plane;
    HWY_INLINE int64_t of_channel(int64_t c) const { return c / channels * part + c % channels; }
};

// Pixels of an image with one vector of channels each, and their strides.
struct Patch {
    const float* first;
    int64_t row, pixel;
};

#if HWY_TARGET == HWY_NEON
// Squares that fill the registers are in memory between both axes, and the loops stay loops: compilers would
// keep constants and addresses there, too, and load each again.
template <int N, int P, class Along, class Load, class Store>
HWY_INLINE void transform_in_memory(Along along, Load load, Store store) {
    HWY_ALIGN float half[P * N * lanes];
    const F32 f;
    Vec line[N], p[P];
#pragma GCC unroll 1
    for (int64_t j = 0; j < N; ++j) {
        for (int64_t i = 0; i < N; ++i) line[i] = load(i, j);
        along(line, p);
        for (int64_t i = 0; i < P; ++i) hn::Store(p[i], f, half + (i * N + j) * lanes);
    }
#pragma GCC unroll 1
    for (int64_t i = 0; i < P; ++i) {
        for (int64_t j = 0; j < N; ++j) line[j] = hn::Load(f, half + (i * N + j) * lanes);
        along(line, p);
        for (int64_t j = 0; j < P; ++j) store(i, j, p[j]);
    }
}
#endif

// Transforms both axes of squares of N by N vectors, one axis after the other: `along` makes P vectors of N.
template <int N, int P, class Along, class Load, class Store>
HWY_INLINE void transform_square(Along along, Load load, Store store) {
#if HWY_TARGET == HWY_NEON
    if constexpr (N * P > 18) return transform_in_memory<N, P>(along, load, store);
#endif
    Vec half[P][N], line[N], p[P];
    for (int64_t j = 0; j < N; ++j) {
        for (int64_t i = 0; i < N; ++i) line[i] = load(i, j);
        along(line, p);
        for (int64_t i = 0; i < P; ++i) half[i][j] = p[i];
    }
    for (int64_t i = 0; i < P; ++i) {
        along(half[i], p);
        for (int64_t j = 0; j < P; ++j) store(i, j, p[j]);
    }
}

// The points of N by N pixels.
template <int N, class Along>
HWY_INLINE void transform_patch(const Patch& x, float* points, int64_t plane, Along along) {
    const F32 f;
    transform_square<N, window>(
        along, [&](int64_t i, int64_t j) HWY_ATTR { return hn::LoadU(f, x.first + i * x.row + j * x.pixel); },
        [&](int64_t i, int64_t j, Vec p) HWY_ATTR { hn::Store(p, f, points + (i * window + j) * plane); });
}

// Copies the part inside the image; the rest of `copy`, of `size` by `size` pixels, stays zero.
HWY_INLINE void copy_inside(const Patch& image, int64_t height, int64_t width, int64_t row, int64_t column,
                            int64_t size, float* copy) {
    const F32 f;
    for (int64_t i = std::max<int64_t>(0, -row); i < std::min(size, height - row); ++i)
        for (int64_t j = std::max<int64_t>(0, -column); j < std::min(size, width - column); ++j)
            hn::Store(hn::LoadU(f, image.first + (row + i) * image.row + (column + j) * image.pixel), f,
                      copy + (i * size + j) * lanes);
}

// Prefetches the pixels that the next tile to the right adds. Its other channels come in between, each from
// far away in a blocked image, so the hardware detects no stream.
HWY_INLINE void fetch_next(const Patch& patch, int64_t rows) {
    constexpr int64_t line = 64 / sizeof(float);
    if (patch.pixel > line) return;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t at = 0; at < winograd_tile * patch.pixel; at += line)
            hwy::Prefetch(patch.first + i * patch.row + rows * patch.pixel + at);
}

struct Extents {
    int64_t channels, height, width;
};
// The points of N by N pixels in all channels, from `at` on; pixels outside the image are zero.
template <int N, class Places, class Along>
HWY_INLINE void transform_tile(const ImageStrides& x, const Extents& of, const float* images, const Tile& at,
                               float* to, const Places& places, Along along) {
    bool is_inside = at.row >= 0 && at.column >= 0 && at.row + N <= of.height && at.column + N <= of.width;
    HWY_ALIGN float copy[N * N * lanes];
    if (!is_inside) std::memset(copy, 0, sizeof copy);
    for (int64_t c = 0; c < of.channels; c += lanes) {
        const float* image = images + at.image * x.image + x.of_channel(c);
        float* points = to + places.of_channel(c);
        if (is_inside) {
            const Patch patch{image + at.row * x.row + at.column * x.pixel, x.row, x.pixel};
            if (c % x.block == 0) fetch_next(patch, N);
            transform_patch<N>(patch, points, places.plane, along);
        } else {
            copy_inside({image, x.row, x.pixel}, of.height, of.width, at.row, at.column, N, copy);
            transform_patch<N>({copy, N * lanes, lanes}, points, places.plane, along);
        }
    }
}

// The points of a tile of x.
template <class Places>
HWY_INLINE void input_tile(const Winograd& w, const float* x, const Tile& tile, float* to,
                           const Places& places) {
    transform_tile<window>(w.x, {w.ic, w.height, w.width}, x,
                           {tile.image, tile.row - w.pad_height, tile.column - w.pad_width}, to, places,
                           [](auto& d, auto& p) HWY_ATTR { input_points(d, p); });
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
