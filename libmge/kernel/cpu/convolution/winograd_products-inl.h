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

// The same for `products_at_once` numbers of each row and as many lines of channels.
#if HWY_TARGET == HWY_NEON
constexpr int64_t products_at_once = 4;
template <int I, int R, int V>
HWY_INLINE void add_lane(const Vec (&points)[R], const float* channels, Vec (&sums)[R][V]) {
    Vec row[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) row[v] = hn::Load(F32(), channels + I * panel_channels + v * lanes);
    add_lane_products<I>(points, row, sums);
}
// A product with one number of a vector is one instruction, without a vector of copies.
template <int64_t gap, int R, int V>
HWY_INLINE void add_more_products(const float* points, const float* channels, Vec (&sums)[R][V]) {
    Vec these[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) these[r] = hn::LoadU(F32(), points + r * gap);
    add_lane<0>(these, channels, sums);
    add_lane<1>(these, channels, sums);
    add_lane<2>(these, channels, sums);
    add_lane<3>(these, channels, sums);
}
#else
constexpr int64_t products_at_once = 1;
template <int64_t gap, int R, int V>
HWY_INLINE void add_more_products(const float* points, const float* channels, Vec (&sums)[R][V]) {
    add_products<gap>(points, channels, sums);
}
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
