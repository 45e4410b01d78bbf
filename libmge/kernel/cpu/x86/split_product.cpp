// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics.
//
// A step of a panel is three parts of two tiles each. A tile of rows contains 32 contiguous k of a row; one
// of columns contains pairs of k, those of 16 columns side by side. Both are words of 32 bits, [line][pair]
// and [pair][line].
#include "libmge/kernel/cpu/product/split_product.h"

#include <immintrin.h>

#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t lanes = 16;
constexpr int64_t part_bytes = 2 * tile_bytes;
static_assert(sizeof(SplitStep) == 3 * part_bytes && split_lines == 2 * tile_rows);

// Rounding to bf16 gives infinity from here on.
constexpr uint32_t without_parts = 0x7f7f8000u;

// --- splitting ---

struct Splitter {
    __m512i words;    // which halves of two vectors are put together
    __m512i largest;  // absolute value, as bits
};

struct Parts {
    __m512i high, middle, low;  // floats whose lower halves are 0
};

__attribute__((target("avx512f,avx512bw"))) inline __m512i round_to_half(__m512i x) {
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(int(0xffff0000u));
    return _mm512_and_si512(_mm512_add_epi32(x, half), upper);
}

__attribute__((target("avx512f,avx512bw"))) inline Parts split(__m512 x) {
    Parts p;
    p.high = round_to_half(_mm512_castps_si512(x));
    __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(p.high));
    p.middle = round_to_half(_mm512_castps_si512(rest));
    p.low = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(p.middle)));
    return p;
}

// Each part of x and y as 32 words of one row of a tile.
__attribute__((target("avx512f,avx512bw"))) inline void emit(Splitter& s, __m512 x, __m512 y, std::byte* to) {
    const __m512i positive = _mm512_set1_epi32(0x7fffffff);
    __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(x), positive),
                                    _mm512_and_si512(_mm512_castps_si512(y), positive));
    s.largest = _mm512_max_epu32(s.largest, bits);
    Parts p = split(x), q = split(y);
    _mm512_store_si512(to, _mm512_permutex2var_epi16(p.high, s.words, q.high));
    _mm512_store_si512(to + part_bytes, _mm512_permutex2var_epi16(p.middle, s.words, q.middle));
    _mm512_store_si512(to + 2 * part_bytes, _mm512_permutex2var_epi16(p.low, s.words, q.low));
}

inline __mmask16 first_lanes(int64_t count) {
    return __mmask16(count >= lanes ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

// 16 vectors of up to 16 floats, `stride` apart; those from `count` on are 0.
__attribute__((target("avx512f,avx512bw"))) inline void load_square(const float* from, int64_t stride,
                                                                    int64_t count, int64_t width,
                                                                    __m512* to) {
    __mmask16 mask = first_lanes(width);
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i)
        to[i] = i < count ? _mm512_maskz_loadu_ps(mask, from + i * stride) : _mm512_setzero_ps();
}

__attribute__((target("avx512f,avx512bw"))) inline void transpose_square(__m512* r) {
    __m512 t[lanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; i += 4)
#pragma GCC unroll 2
        for (int64_t j = 0; j < 2; ++j) {
            __m512d upper = _mm512_castps_pd(t[i + j]), lower = _mm512_castps_pd(t[i + j + 2]);
            r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(upper, lower));
            r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(upper, lower));
        }
        // Lane l of r[4 g + c] contains column 4 l + c of the rows 4 g to 4 g + 3.
#pragma GCC unroll 4
    for (int64_t c = 0; c < 4; ++c) {
        __m512 even0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
        __m512 even1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
        __m512 odd0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
        __m512 odd1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
        t[c] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        t[4 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        t[8 + c] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        t[12 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i) r[i] = t[i];
}

// The 16 x 16 floats at (line, k), [line][k] or [k][line]; transposed if stored the other way.
__attribute__((target("avx512f,avx512bw"))) inline void load(const SplitSource& s, int64_t line, int64_t k,
                                                             bool is_by_line, __m512* to) {
    const float* from = s.first + line * s.line_stride + k * s.depth_stride;
    int64_t lines = s.lines - line, depth = s.depth - k;
    bool is_line_contiguous = s.depth_stride == 1;
    if (is_line_contiguous)
        load_square(from, s.line_stride, lines, depth, to);
    else
        load_square(from, s.depth_stride, depth, lines, to);
    if (is_line_contiguous != is_by_line) transpose_square(to);
}

__attribute__((target("avx512f,avx512bw"))) inline bool has_parts(const Splitter& s) {
    return _mm512_cmplt_epu32_mask(s.largest, _mm512_set1_epi32(int(without_parts))) == 0xffff;
}

// Lanes as words: the upper half of x's lane l is word 2 l + 1, that of y's is 32 more.
__attribute__((target("avx512f,avx512bw"))) inline Splitter splitter(bool is_in_turn) {
    alignas(64) uint16_t words[2 * lanes];
    for (int64_t i = 0; i < 2 * lanes; ++i)
        words[i] = uint16_t(is_in_turn ? i / 2 * 2 + 1 + i % 2 * 32 : i % lanes * 2 + 1 + i / lanes * 32);
    return {_mm512_load_si512(words), _mm512_setzero_si512()};
}

// --- products ---

__attribute__((target("amx-tile"))) inline void load_rows(const std::byte* part) {
    _tile_loadd(4, part, tile_row_bytes);
    _tile_loadd(5, part + tile_bytes, tile_row_bytes);
}
__attribute__((target("amx-tile"))) inline void load_columns(const std::byte* part) {
    _tile_loadd(6, part, tile_row_bytes);
    _tile_loadd(7, part + tile_bytes, tile_row_bytes);
}
__attribute__((target("amx-tile,amx-bf16"))) inline void multiply_parts() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

}  // namespace

bool has_split_products() { return has_matrix_tiles(); }

__attribute__((target("avx512f,avx512bw"))) bool pack_split_rows(const SplitSource& source,
                                                                 SplitStep* packed) {
    Splitter s = splitter(false);
    for (int64_t k = 0; k < source.depth; k += split_depth, ++packed)
        for (int64_t tile = 0; tile < 2; ++tile) {
            __m512 left[lanes], right[lanes];
            load(source, tile * tile_rows, k, true, left);
            load(source, tile * tile_rows, k + lanes, true, right);
            for (int64_t i = 0; i < lanes; ++i)
                emit(s, left[i], right[i], packed->bytes + tile * tile_bytes + i * tile_row_bytes);
        }
    return has_parts(s);
}

__attribute__((target("avx512f,avx512bw"))) bool pack_split_columns(const SplitSource& source,
                                                                    SplitStep* packed) {
    Splitter s = splitter(true);
    for (int64_t k = 0; k < source.depth; k += split_depth, ++packed)
        for (int64_t tile = 0; tile < 2; ++tile)
            for (int64_t half = 0; half < 2; ++half) {
                __m512 x[lanes];
                load(source, tile * tile_rows, k + half * lanes, false, x);
                std::byte* to = packed->bytes + tile * tile_bytes + half * tile_bytes / 2;
                for (int64_t i = 0; i < lanes; i += 2) emit(s, x[i], x[i + 1], to + i / 2 * tile_row_bytes);
            }
    return has_parts(s);
}

// Small products first. Four of a step's parts are loaded twice, the others once.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_split(const SplitStep* rows,
                                                                 const SplitStep* columns, int64_t steps,
                                                                 SplitSums& sums) {
    constexpr int64_t middle = part_bytes, low = 2 * part_bytes, row_bytes = split_lines * sizeof(float);
    float *upper = sums.values, *lower = upper + tile_rows * split_lines;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t step = 0; step < steps; ++step) {
        const std::byte *a = rows[step].bytes, *b = columns[step].bytes;
        load_rows(a + low);
        load_columns(b);
        multiply_parts();
        load_rows(a + middle);
        multiply_parts();
        load_columns(b + middle);
        multiply_parts();
        load_rows(a);
        multiply_parts();
        load_columns(b + low);
        multiply_parts();
        load_columns(b);
        multiply_parts();
    }
    _tile_stored(0, upper, row_bytes);
    _tile_stored(1, upper + lanes, row_bytes);
    _tile_stored(2, lower, row_bytes);
    _tile_stored(3, lower + lanes, row_bytes);
}

__attribute__((target("avx512f,avx512bw"))) void store_split(const SplitSums& sums, int64_t rows,
                                                             int64_t columns, const SplitResult& to) {
    for (int64_t m = 0; m < rows; ++m)
        for (int64_t n = 0; n < columns; n += lanes) {
            __mmask16 mask = first_lanes(columns - n);
            __m512 y = _mm512_load_ps(sums.values + m * split_lines + n);
            if (to.bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, to.bias + n));
            int64_t place = m * to.stride + n;
            if (to.residual) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, to.residual + place));
            _mm512_mask_storeu_ps(to.y + place, mask, y);
        }
}

}  // namespace mge::cpu
