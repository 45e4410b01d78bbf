// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/quad_product.h"

#include <array>
#include <utility>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/x86/quad_steps-inl.h"

namespace mge::cpu {
namespace {

constexpr int64_t lanes = quad_lanes, word = quad_word, line = 64;

// A row's distance from the first, in forms that addresses have.
struct RowSteps {
    int64_t one, three, five;
};

// The word of row r, in all lanes. Compilers keep a pointer for each row and run out of registers.
__attribute__((target("avx512f"), always_inline)) inline __m512i word_of_row(int r, const uint8_t* x,
                                                                             const RowSteps& steps) {
    __m512i all;
    switch (r) {
        case 0:
            asm("vpbroadcastd (%1), %0" : "=v"(all) : "r"(x));
            break;
        case 1:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 2:
            asm("vpbroadcastd (%1,%2,2), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 3:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.three));
            break;
        case 4:
            asm("vpbroadcastd (%1,%2,4), %0" : "=v"(all) : "r"(x), "r"(steps.one));
            break;
        case 5:
            asm("vpbroadcastd (%1,%2), %0" : "=v"(all) : "r"(x), "r"(steps.five));
            break;
        default:
            asm("vpbroadcastd (%1,%2,2), %0" : "=v"(all) : "r"(x), "r"(steps.three));
            break;
    }
    return all;
}

// 28 sums, two words of the weight and one of x in 32 registers. The product is written in assembly because
// GCC 12 keeps copies of the sums in memory.
template <int rows, int vectors>
__attribute__((target("avx512f,avx512vnni"), always_inline)) inline void multiply_tile(
    const QuadTile& t, __m512i (&sums)[rows][vectors]) {
    constexpr int half = (rows + 1) / 2;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_loadu_si512(t.start + v * lanes);
    const int8_t *weight = t.weight, *next = t.next;
    const int64_t next_step = t.next_step;
    const RowSteps steps{t.stride, 3 * t.stride, 5 * t.stride};
    for (int64_t part : t.parts) {
        const uint8_t *x = t.x + part, *later = t.later + part;
        const int8_t* end = weight + t.part_bytes * vectors * lanes;
        for (; weight < end; weight += vectors * lanes * word, x += word, later += word, next += next_step) {
            __m512i b[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) b[v] = _mm512_loadu_si512(weight + v * lanes * word);
            _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
            _mm_prefetch(reinterpret_cast<const char*>(next) + line, _MM_HINT_T1);
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) {
                __m512i a = r < half ? word_of_row(r, x, steps) : word_of_row(r - half, later, steps);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v)
                    asm("vpdpbusd %2, %1, %0" : "+v"(sums[r][v]) : "v"(a), "v"(b[v]));
            }
        }
    }
}

// The operations between sums and steps: none, usual ones whose divisions round shortly, or any.
enum class Between : uint8_t { nothing, inner_and_residual, inner_and_shift, any };
Between between(const QuadSteps& s) {
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
            real = _mm512_add_ps(real, _mm512_loadu_ps(shift + vector * lanes));
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

// Narrowing leaves the steps of two rows lane by lane, or of four rows if there are 16 columns.
template <int rows, int vectors, bool is_short, Between what>
__attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) inline void store_steps(
    const QuadTile& t, const QuadSteps& quad_steps, const __m512i (&sums)[rows][vectors]) {
    constexpr int half = (rows + 1) / 2, together = 4 / vectors;
    const QuadStepVectors s = in_vectors(quad_steps);
    const auto present = __mmask32(t.columns < quad_columns ? (1u << t.columns) - 1 : ~0u);
    auto row = [&](int r) { return r < half ? t.y + r * t.y_stride : t.y_later + (r - half) * t.y_stride; };
    auto residual_row = [&](int r) {
        return r < half ? t.residual + r * t.y_stride : t.residual_later + (r - half) * t.y_stride;
    };
    const RealVectors<what> reals(t, quad_steps);
    __m512 scale[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) scale[v] = _mm512_loadu_ps(t.scale + v * lanes);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += together) {
        __m512i q[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const int from = r + i / vectors < rows ? r + i / vectors : r, v = i % vectors;
            __m512 real = real_of(sums[from][v], scale[v]);
            if constexpr (what != Between::nothing)
                real = reals(real, v, residual_row(from) + v * lanes, __mmask16(present >> (v * lanes)));
            q[i] = rounded_quotients<is_short>(s, real);
        }
        __m512i steps = narrow_steps(s, wide_steps(s, q[0], q[1]), wide_steps(s, q[2], q[3]));
        steps = _mm512_permutexvar_epi32(order, steps);
        if constexpr (vectors == 2) {
            _mm256_mask_storeu_epi8(row(r), present, _mm512_castsi512_si256(steps));
            if (r + 1 < rows)
                _mm256_mask_storeu_epi8(row(r + 1), present, _mm512_extracti64x4_epi64(steps, 1));
        } else {
            const auto columns = __mmask16(present);
            _mm_mask_storeu_epi8(row(r), columns, _mm512_castsi512_si128(steps));
            if (r + 1 < rows) _mm_mask_storeu_epi8(row(r + 1), columns, _mm512_extracti32x4_epi32(steps, 1));
            if (r + 2 < rows) _mm_mask_storeu_epi8(row(r + 2), columns, _mm512_extracti32x4_epi32(steps, 2));
            if (r + 3 < rows) _mm_mask_storeu_epi8(row(r + 3), columns, _mm512_extracti32x4_epi32(steps, 3));
        }
    }
}

template <int rows, int vectors>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void steps_of_tile(const QuadTile& tile,
                                                                                   const QuadSteps& steps) {
    __m512i sums[rows][vectors];
    multiply_tile<rows, vectors>(tile, sums);
    switch (between(steps)) {
        case Between::nothing:
            return steps.is_short ? store_steps<rows, vectors, true, Between::nothing>(tile, steps, sums)
                                  : store_steps<rows, vectors, false, Between::nothing>(tile, steps, sums);
        case Between::inner_and_residual:
            return store_steps<rows, vectors, true, Between::inner_and_residual>(tile, steps, sums);
        case Between::inner_and_shift:
            return store_steps<rows, vectors, true, Between::inner_and_shift>(tile, steps, sums);
        case Between::any:
            return store_steps<rows, vectors, false, Between::any>(tile, steps, sums);
    }
}

template <int rows, int vectors>
__attribute__((target("avx512f,avx512vnni"))) void sums_of_tile(const QuadTile& tile, int32_t* to) {
    __m512i sums[rows][vectors];
    multiply_tile<rows, vectors>(tile, sums);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) _mm512_storeu_si512(to + r * quad_columns + v * lanes, sums[r][v]);
}

struct TileKernels {
    void (*steps)(const QuadTile&, const QuadSteps&);
    void (*sums)(const QuadTile&, int32_t*);
};
template <int vectors, int... rows>
constexpr auto kernels_of(std::integer_sequence<int, rows...>) {
    return std::array{TileKernels{steps_of_tile<rows + 1, vectors>, sums_of_tile<rows + 1, vectors>}...};
}
const TileKernels& kernels_of(const QuadTile& tile) {
    using Rows = std::make_integer_sequence<int, int(quad_rows)>;
    static constexpr std::array kernels{kernels_of<1>(Rows()), kernels_of<2>(Rows())};
    return kernels[tile.columns > lanes][size_t(tile.rows - 1)];
}

}  // namespace

bool has_quads() { return cpu_isa() >= Isa::avx512_vnni; }

void multiply_quads(const QuadTile& tile, const QuadSteps& steps) { kernels_of(tile).steps(tile, steps); }
void multiply_quads(const QuadTile& tile, int32_t* sums) { kernels_of(tile).sums(tile, sums); }

}  // namespace mge::cpu
