// SPDX-License-Identifier: Apache-2.0
// Products that are added to sums in the order of the source. Included by *.simd.cpp files after
// foreach_target.h and once per instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_ORDERED_PRODUCTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_ORDERED_PRODUCTS_H
#undef MGE_KERNEL_CPU_ORDERED_PRODUCTS_H
#else
#define MGE_KERNEL_CPU_ORDERED_PRODUCTS_H
#endif

#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_NEON
// Assembly on Arm. Compilers that reorder these products give sums new registers and copy them back, and
// separate loads of neighbouring vectors, which one instruction can do: a fifth of the instructions of a
// tile.
template <class Vector>
HWY_INLINE Vector add_product(Vector a, Vector b, Vector sum) {
    asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum.raw) : "w"(a.raw), "w"(b.raw));
    return sum;
}
// Adds the product with one number of a vector.
template <int I, class Vector>
HWY_INLINE Vector add_lane_product(Vector numbers, Vector factor, Vector sum) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(sum.raw) : "w"(factor.raw), "w"(numbers.raw), "i"(I));
    return sum;
}
// sums (R, V) += number I of R vectors times a row of V vectors.
template <int I, int R, int V, class Vector>
HWY_INLINE void add_lane_products(const Vector (&numbers)[R], const Vector (&row)[V], Vector (&sums)[R][V]) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r][v] = add_lane_product<I>(numbers[r], row[v], sums[r][v]);
}
// Four neighbouring vectors, loaded by one instruction; moves `from` by `step` vectors. Where there are
// several fours, GCC 12 copies the vectors that products take out of them, so products name a register of a
// four in assembly.
using Four = float32x4x4_t;
template <int step = 4>
HWY_INLINE Four load_four(const float*& from) {
    const Four four = vld1q_f32_x4(from);
    from += step * 4;
    asm volatile("" : "+r"(from));  // or compilers compute each address by an instruction of its own
    return four;
}
// Adds the product with number I of vector n of a four.
template <int I, int n, class Vector>
HWY_INLINE Vector add_lane_product_of(const Four& four, Vector factor, Vector sum) {
#ifdef __clang__  // has no names for the registers of a four
    return add_lane_product<I>(Vector(four.val[n]), factor, sum);
#else
    if constexpr (n == 0)
        asm volatile("fmla %0.4s, %1.4s, %S2.s[%c3]" : "+w"(sum.raw) : "w"(factor.raw), "w"(four), "i"(I));
    if constexpr (n == 1)
        asm volatile("fmla %0.4s, %1.4s, %T2.s[%c3]" : "+w"(sum.raw) : "w"(factor.raw), "w"(four), "i"(I));
    if constexpr (n == 2)
        asm volatile("fmla %0.4s, %1.4s, %U2.s[%c3]" : "+w"(sum.raw) : "w"(factor.raw), "w"(four), "i"(I));
    if constexpr (n == 3)
        asm volatile("fmla %0.4s, %1.4s, %V2.s[%c3]" : "+w"(sum.raw) : "w"(factor.raw), "w"(four), "i"(I));
    return sum;
#endif
}
// Loads N neighbouring vectors, up to four with one instruction, and moves `from` past them.
template <int N, class Vector>
HWY_INLINE void load_vectors(const float*& from, Vector (&to)[N]) {
    const auto take = [&](const auto& some, int first, int count) {
        from += count * 4;
        asm volatile("" : "+r"(from));  // or compilers compute each address by an instruction of its own
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) to[first + i] = Vector(some.val[i]);
    };
#pragma GCC unroll 4
    for (int n = 0; n + 4 <= N; n += 4) take(vld1q_f32_x4(from), n, 4);
    if constexpr (N % 4 == 3) take(vld1q_f32_x3(from), N - 3, 3);
    if constexpr (N % 4 == 2) take(vld1q_f32_x2(from), N - 2, 2);
    if constexpr (N % 4 == 1) to[N - 1] = Vector(vld1q_f32(std::exchange(from, from + 4)));
}
#else
template <class Vector>
HWY_INLINE Vector add_product(Vector a, Vector b, Vector sum) {
    return hwy::HWY_NAMESPACE::MulAdd(a, b, sum);
}
#endif

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
