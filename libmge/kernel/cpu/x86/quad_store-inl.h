// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a tile's sums to rows of byte steps, with the operations between (QuadSteps), by AVX-512.

#include "libmge/kernel/cpu/x86/quad_steps-inl.h"

namespace mge::cpu {

// The operations between sums and steps: none, usual ones whose divisions round shortly, or any.
enum class Between : uint8_t { nothing, inner_and_residual, inner_and_shift, any };
inline Between between(const QuadSteps& s) {
    if (s.is_plain()) return Between::nothing;
    const bool is_usual = s.has_inner && s.is_inner_short && s.is_short;
    if (is_usual && s.has_residual && !s.has_shift && !s.is_residual_signed)
        return Between::inner_and_residual;
    return is_usual && s.has_shift && !s.has_residual ? Between::inner_and_shift : Between::any;
}

// The real number of a vector of sums.
template <Between what>
struct RealVectors {
    const QuadSteps& s;
    const float* shift;
    __m512 inner_scale, inner_inverse, inner_rounded_off, inner_lower, inner_upper;
    __m512 residual_zero, residual_scale;

    __attribute__((target("avx512f"), always_inline)) RealVectors(const QuadTile& t, const QuadSteps& steps)
        : s(steps),
          shift(t.shift),
          inner_scale(_mm512_set1_ps(s.inner.scale)),
          inner_inverse(_mm512_set1_ps(s.inner.inverse)),
          inner_rounded_off(_mm512_set1_ps(s.inner.rounded_off)),
          inner_lower(_mm512_set1_ps(s.inner.lower)),
          inner_upper(_mm512_set1_ps(s.inner.upper)),
          residual_zero(_mm512_set1_ps(s.residual_zero)),
          residual_scale(_mm512_set1_ps(s.residual_scale)) {}

    // `residual` is the address of the vector's bytes, of which the present ones are read.
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) __m512 operator()(
        __m512 real, int vector, const uint8_t* residual, __mmask16 present) const {
        if constexpr (what == Between::nothing) return real;
        constexpr bool is_any = what == Between::any;
        if (!is_any || s.has_inner) real = as_inner_steps(real);
        if (what == Between::inner_and_shift || (is_any && s.has_shift))
            real = _mm512_add_ps(real, _mm512_loadu_ps(shift + vector * quad_lanes));
        if (what == Between::inner_and_residual || (is_any && s.has_residual))
            real = _mm512_add_ps(real, residual_of(residual, present));
        return real;
    }

private:
    // Clipped before it is rounded, because the bounds are whole numbers.
    __attribute__((target("avx512f"), always_inline)) __m512 as_inner_steps(__m512 real) const {
        __m512 quotient = _mm512_fmadd_ps(real, inner_inverse, _mm512_mul_ps(real, inner_rounded_off));
        if constexpr (what == Between::any) {
            __m512 remainder = _mm512_fnmadd_ps(quotient, inner_scale, real);
            quotient = _mm512_fmadd_ps(remainder, inner_inverse, quotient);
        }
        quotient = _mm512_min_ps(_mm512_max_ps(quotient, inner_lower), inner_upper);
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        return _mm512_mul_ps(_mm512_roundscale_ps(quotient, nearest), inner_scale);
    }
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) __m512 residual_of(
        const uint8_t* bytes, __mmask16 present) const {
        const __m128i steps = _mm_maskz_loadu_epi8(present, bytes);
        const bool is_signed = what == Between::any && s.is_residual_signed;
        const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(steps) : _mm512_cvtepu8_epi32(steps);
        return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(wide), residual_zero), residual_scale);
    }
};

// Narrowing leaves the steps of two rows lane by lane, or of four rows if there are 16 columns. Sums that
// were not started with QuadTile::start get it here.
template <int vectors, bool is_short, Between what, bool is_started>
class StepStore {
public:
    static constexpr int together = 4 / vectors;  // rows of a call
    struct Rows {
        uint8_t* y[size_t(together)];
        const uint8_t* residual[size_t(together)];
    };

    __attribute__((target("avx512f,avx512bw"), always_inline))
    StepStore(const QuadTile& t, const QuadSteps& steps)
        : steps_(in_vectors(steps)),
          present_(t.columns < quad_columns ? (1u << t.columns) - 1 : ~0u),
          reals_(t, steps),
          order_(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            scale_[v] = _mm512_loadu_ps(t.scale + v * quad_lanes);
            if constexpr (!is_started) start_[v] = _mm512_loadu_si512(t.start + v * quad_lanes);
        }
    }
    // The first `count` of them.
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) void operator()(
        const __m512i (*sums)[vectors], int count, const Rows& rows) const {
        // Each operation on all vectors before the next operation: the processor looks only so far ahead.
        __m512 reals[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const int row = i / vectors, v = i % vectors;
            __m512i sum = (row < count ? sums[row] : sums[0])[v];
            if constexpr (!is_started) sum = _mm512_add_epi32(sum, start_[v]);
            reals[i] = real_of(sum, scale_[v]);
            in_this_order(reals[i]);
        }
        if constexpr (what != Between::nothing)
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                const int row = i / vectors, v = i % vectors;
                const uint8_t* residual = row < count ? rows.residual[row] : rows.residual[0];
                reals[i] =
                    reals_(reals[i], v, residual + v * quad_lanes, __mmask16(present_ >> (v * quad_lanes)));
                in_this_order(reals[i]);
            }
        __m512i q[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            q[i] = rounded_quotients<is_short>(steps_, reals[i]);
            in_this_order(q[i]);
        }
        __m512i steps = narrow_steps(steps_, wide_steps(steps_, q[0], q[1]), wide_steps(steps_, q[2], q[3]));
        steps = _mm512_permutexvar_epi32(order_, steps);
        if constexpr (vectors == 2) {
            _mm256_mask_storeu_epi8(rows.y[0], present_, _mm512_castsi512_si256(steps));
            if (count > 1) _mm256_mask_storeu_epi8(rows.y[1], present_, _mm512_extracti64x4_epi64(steps, 1));
        } else {
            const auto columns = __mmask16(present_);
            _mm_mask_storeu_epi8(rows.y[0], columns, _mm512_castsi512_si128(steps));
            if (count > 1) _mm_mask_storeu_epi8(rows.y[1], columns, _mm512_extracti32x4_epi32(steps, 1));
            if (count > 2) _mm_mask_storeu_epi8(rows.y[2], columns, _mm512_extracti32x4_epi32(steps, 2));
            if (count > 3) _mm_mask_storeu_epi8(rows.y[3], columns, _mm512_extracti32x4_epi32(steps, 3));
        }
    }

private:
    // GCC would order by vectors instead.
    template <class Vector>
    __attribute__((target("avx512f"), always_inline)) static void in_this_order(Vector& x) {
        asm("" : "+v"(x));
    }

    const QuadStepVectors steps_;
    const __mmask32 present_;
    const RealVectors<what> reals_;
    const __m512i order_;
    __m512 scale_[vectors];
    __m512i start_[is_started ? 1 : vectors];
};

}  // namespace mge::cpu
