// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums in registers to byte steps, by AVX-512. Highway of Debian 12 has no byte products, so the kernels that
// include this use the processor's intrinsics.

#include <immintrin.h>

#include "libmge/kernel/cpu/product/quad_product.h"

namespace mge::cpu {

// QuadSteps in registers.
struct QuadStepVectors {
    __m512 y_scale, inverse, rounded_off;
    __m512i zero, lower, upper;
    bool is_signed, is_whole;
};
__attribute__((target("avx512f,avx512bw"))) inline QuadStepVectors in_vectors(const QuadSteps& s) {
    return {_mm512_set1_ps(s.y_scale),
            _mm512_set1_ps(s.inverse),
            _mm512_set1_ps(s.rounded_off),
            _mm512_set1_epi16(s.zero),
            _mm512_set1_epi16(s.lower),
            _mm512_set1_epi16(s.upper),
            s.is_signed,
            s.is_whole};
}

// The rounded quotients of 16 sums, less the zero point. The quotient by the inverse and its rounding error
// is off by less than one of the last digits. Markstein: one correction by the remainder gives the rounded
// quotient.
template <bool is_short>
__attribute__((target("avx512f,avx512bw"), always_inline)) inline __m512i rounded_quotients(
    const QuadStepVectors& s, __m512 real) {
    __m512 quotient = _mm512_fmadd_ps(real, s.inverse, _mm512_mul_ps(real, s.rounded_off));
    if constexpr (!is_short) {
        __m512 remainder = _mm512_fnmadd_ps(quotient, s.y_scale, real);
        quotient = _mm512_fmadd_ps(remainder, s.inverse, quotient);
    }
    return _mm512_cvtps_epi32(quotient);
}
__attribute__((target("avx512f,avx512bw"), always_inline)) inline __m512 real_of(__m512i sum, __m512 scale) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
}

// Two vectors of quotients to steps of 16 bits, four of each in turn.
__attribute__((target("avx512f,avx512bw"), always_inline)) inline __m512i wide_steps(const QuadStepVectors& s,
                                                                                     __m512i a, __m512i b) {
    __m512i steps = _mm512_adds_epi16(_mm512_packs_epi32(a, b), s.zero);
    if (s.is_whole) return steps;  // narrowing saturates
    return _mm512_min_epi16(_mm512_max_epi16(steps, s.lower), s.upper);
}
// Lane by lane, those of a before those of b.
__attribute__((target("avx512f,avx512bw"), always_inline)) inline __m512i narrow_steps(
    const QuadStepVectors& s, __m512i a, __m512i b) {
    return s.is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
}

}  // namespace mge::cpu
