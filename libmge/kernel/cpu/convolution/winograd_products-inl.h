// SPDX-License-Identifier: Apache-2.0
// The products of one point in Winograd's convolutions: a few rows times a panel of channels, summed in
// registers. Included by *.simd.cpp files after foreach_target.h and once per instruction set, so it has no
// #pragma once.

#if defined(MGE_KERNEL_CPU_WINOGRAD_PRODUCTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_WINOGRAD_PRODUCTS_H
#undef MGE_KERNEL_CPU_WINOGRAD_PRODUCTS_H
#else
#define MGE_KERNEL_CPU_WINOGRAD_PRODUCTS_H
#endif

#include <array>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/winograd_points-inl.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

// sums (R, V vectors) += R points, `gap` floats apart, times the channels of a panel.
template <int64_t gap, int R, int V>
HWY_INLINE void add_products(const float* points, const float* channels, Vec (&sums)[R][V]) {
    const F32 f;
    Vec row[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) row[v] = hn::Load(f, channels + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        Vec point = hn::Set(f, points[r * gap]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(point, row[v], sums[r][v]);
    }
}

// Numbers of each row that are multiplied at once.
#if HWY_TARGET == HWY_NEON
constexpr int64_t products_at_once = 4;
// Adds the products of number I with one line of channels, and of the next number with the next line.
template <int I, int R, int V>
HWY_INLINE void add_two_lines(const Vec (&points)[R], const float*& channels, Vec (&sums)[R][V]) {
    Vec lines[2 * panel_vectors];
    load_vectors(channels, lines);
    if constexpr (V == panel_vectors) {
        add_lane_products<I>(points, {lines[0], lines[1]}, sums);
        add_lane_products<I + 1>(points, {lines[2], lines[3]}, sums);
    } else {
        add_lane_products<I>(points, {lines[0]}, sums);
        add_lane_products<I + 1>(points, {lines[panel_vectors]}, sums);
    }
}
// The same with the points of more than four rows in two fours.
template <int I, int R, int... i>
HWY_INLINE void add_line(const Four& lower, const Four& upper, const Vec (&line)[panel_vectors],
                         Vec (&sums)[R][panel_vectors], std::integer_sequence<int, i...>) {
    ((sums[i % R][i / R] =
          add_lane_product_of<I, i % R % 4>(i % R < 4 ? lower : upper, line[i / R], sums[i % R][i / R])),
     ...);
}
template <int I, int R>
HWY_INLINE void add_two_lines(const Four& lower, const Four& upper, const float*& channels,
                              Vec (&sums)[R][panel_vectors]) {
    Vec lines[2 * panel_vectors];
    load_vectors(channels, lines);
    constexpr std::make_integer_sequence<int, panel_vectors * R> all;
    add_line<I>(lower, upper, {lines[0], lines[1]}, sums, all);
    add_line<I + 1>(lower, upper, {lines[2], lines[3]}, sums, all);
}
// The same as add_products() for four numbers of each row, which are side by side, and as many lines of
// channels; moves past both. A product with one number of a vector is one instruction, without a vector of
// copies.
template <int R, int V>
HWY_INLINE void add_more_products(const float*& points, const float*& channels, Vec (&sums)[R][V]) {
    if constexpr (R > 5 && V == panel_vectors) {
        // The second four may end behind the rows, where other points or the gap of a plane are.
        const Four lower = load_four(points), upper = load_four<R - 4>(points);
        add_two_lines<0>(lower, upper, channels, sums);
        add_two_lines<2>(lower, upper, channels, sums);
    } else {
        Vec these[R];
        load_vectors(points, these);
        add_two_lines<0>(these, channels, sums);
        add_two_lines<2>(these, channels, sums);
    }
}
#else
constexpr int64_t products_at_once = 1;
template <int R, int V>
void add_more_products(const float*& points, const float*& channels, Vec (&sums)[R][V]);
#endif

// Kernel::run<R, V> by vectors, then by rows, each less 1.
template <class Kernel, int V, int... R>
constexpr auto kernels_by_rows(std::integer_sequence<int, R...>) {
    return std::array{&Kernel::template run<R + 1, V>...};
}
template <class Kernel>
constexpr auto kernels_by_size() {
    constexpr std::make_integer_sequence<int, max_rows> rows;
    return std::array{kernels_by_rows<Kernel, 1>(rows), kernels_by_rows<Kernel, 2>(rows)};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
