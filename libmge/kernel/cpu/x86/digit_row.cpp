// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/digit_row.h"

#include <immintrin.h>

#include <bit>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/quad_product.h"

namespace mge::cpu {
namespace {

// Steps are read so many bytes at a time when digits are made.
constexpr int64_t digit_part_bytes = 16;
// The largest integer has this magnitude: its first digit is 127 and the others are 0.
constexpr float largest_integer = 127 * 65536;
// Below it, the unit of a group times a small scale would not be a normal number.
constexpr float least_magnitude = 0x1p-60F;
// A row ends where the processor's own prefetcher has found it: rows of the tile that comes next but one are
// requested instead.
constexpr int64_t digit_tile_rows = 4, tiles_ahead = 2;

// ---- digits ----

// The numbers of the columns in 16 bytes of steps, those of low halves first.
template <int bits>
struct DigitPart {
    __m512 numbers[8 / bits];
};
template <int bits>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) DigitPart<bits> load_part(const float* x) {
    if constexpr (bits == 8) {
        return {{_mm512_loadu_ps(x)}};
    } else {
        const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512 left = _mm512_loadu_ps(x), right = _mm512_loadu_ps(x + 16);
        return {{_mm512_permutex2var_ps(left, even, right), _mm512_permutex2var_ps(left, odd, right)}};
    }
}

// Infinity if a number is not finite.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) float largest_magnitude(const float* x,
                                                                               int64_t count) {
    const __m512 infinity = _mm512_castsi512_ps(_mm512_set1_epi32(0x7f800000));
    __m512 most = _mm512_setzero_ps();
    __mmask16 is_other = 0;
    for (int64_t i = 0; i < count; i += 16) {
        const __m512 magnitude = _mm512_abs_ps(_mm512_loadu_ps(x + i));
        is_other |= _mm512_cmp_ps_mask(magnitude, infinity, _CMP_NLT_UQ);
        most = _mm512_max_ps(most, magnitude);
    }
    return is_other ? std::bit_cast<float>(0x7f800000) : _mm512_reduce_max_ps(most);
}

// The digits of an integer are the bytes of the integer plus 128 at each of them, less 128.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void store_digits(__m512 numbers, float inverse,
                                                                         int8_t (*digit)[DigitBlock::bytes],
                                                                         int64_t at) {
    const __m512i integers = _mm512_cvtps_epi32(_mm512_mul_ps(numbers, _mm512_set1_ps(inverse)));
    const __m512i larger = _mm512_add_epi32(integers, _mm512_set1_epi32(0x808080));
    const __m128i offset = _mm_set1_epi8(char(0x80));
    const __m512i values[] = {_mm512_srli_epi32(larger, 16), _mm512_srli_epi32(larger, 8), larger};
    for (int d = 0; d < DigitBlock::digits; ++d)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(digit[d] + at),
                         _mm_xor_si128(_mm512_cvtepi32_epi8(values[d]), offset));
}

template <int bits>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) bool make_blocks(const CompressedWeight& s,
                                                                        const float* x, DigitBlock* blocks) {
    constexpr int64_t part_columns = digit_part_bytes * 8 / bits;
    for (int64_t byte = 0; byte < s.row_bytes(); byte += s.group_bytes(), x += s.group) {
        const float most = largest_magnitude(x, s.group);
        if (!(most < std::bit_cast<float>(0x7f800000)) || (most > 0 && most < least_magnitude)) return false;
        const float unit = most / largest_integer, inverse = most > 0 ? largest_integer / most : 0;
        for (int64_t i = 0; i < s.group_bytes(); i += digit_part_bytes) {
            DigitBlock& block = blocks[(byte + i) / DigitBlock::bytes];
            const int64_t at = (byte + i) % DigitBlock::bytes;
            const auto part = load_part<bits>(x + i / digit_part_bytes * part_columns);
            for (int place = 0; place < 8 / bits; ++place)
                store_digits(part.numbers[place], inverse, block.digit[place], at);
            _mm_storeu_ps(block.unit + at / 4, _mm_set1_ps(unit));
        }
    }
    const __m512i middle = _mm512_set1_epi8(char(s.middle()));
    for (int64_t b = 0; b < digit_blocks(s); ++b)
        for (int d = 0; d < DigitBlock::digits; ++d) {
            __m512i sum = _mm512_setzero_si512();
            for (int place = 0; place < 8 / bits; ++place)
                sum = _mm512_dpbusd_epi32(sum, middle, _mm512_loadu_si512(blocks[b].digit[place][d]));
            _mm512_storeu_si512(blocks[b].start[d], _mm512_sub_epi32(_mm512_setzero_si512(), sum));
        }
    return true;
}

// ---- products ----

// How the scales of a block, which are consecutive, become one for each sum.
struct ScaleSpread {
    __m512i index;
    __mmask16 loaded;
    int64_t group_bytes;
};
__attribute__((target("avx512f,avx512bw,avx512vnni"))) ScaleSpread scale_spread(const CompressedWeight& s) {
    alignas(64) int32_t index[DigitBlock::sums];
    for (int64_t i = 0; i < DigitBlock::sums; ++i) index[i] = int32_t(i * 4 / s.group_bytes());
    return {_mm512_load_si512(index), __mmask16((2U << index[DigitBlock::sums - 1]) - 1), s.group_bytes()};
}

// The products of a block with 64 bytes of a row.
template <int bits>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) __attribute__((always_inline)) inline __m512
sums_of_block(const uint8_t* steps, const DigitBlock& block) {
    const __m512i bytes = _mm512_loadu_si512(steps), half = _mm512_set1_epi8(15);
    const __m512i low = bits == 8 ? bytes : _mm512_and_si512(bytes, half);
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
    __m512i sums[DigitBlock::digits];
#pragma GCC unroll 3
    for (int d = 0; d < DigitBlock::digits; ++d) {
        sums[d] = _mm512_loadu_si512(block.start[d]);
        sums[d] = _mm512_dpbusd_epi32(sums[d], low, _mm512_loadu_si512(block.digit[0][d]));
        if (bits == 4) sums[d] = _mm512_dpbusd_epi32(sums[d], high, _mm512_loadu_si512(block.digit[1][d]));
    }
    const __m512i first = _mm512_add_epi32(_mm512_slli_epi32(sums[0], 8), sums[1]);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(first), _mm512_set1_ps(256), _mm512_cvtepi32_ps(sums[2]));
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m512d sums_of_pairs(__m512 a, __m512 b) {
    return _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
}
// The sums of the lanes of four vectors.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m128 sums_of_lanes(
    const __m512 (&x)[digit_tile_rows]) {
    const __m512d a = sums_of_pairs(x[0], x[1]), b = sums_of_pairs(x[2], x[3]);
    const __m512 fours =
        _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    const __m128 left = _mm_add_ps(_mm512_extractf32x4_ps(fours, 0), _mm512_extractf32x4_ps(fours, 1));
    const __m128 right = _mm_add_ps(_mm512_extractf32x4_ps(fours, 2), _mm512_extractf32x4_ps(fours, 3));
    return _mm_add_ps(left, right);
}

// N rows of the weight, from row n on. The sums of the others are 0.
template <int bits, int N>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) __m128 multiply_digit_rows(const CompressedWeight& s,
                                                                                  const CompressedData& data,
                                                                                  const DigitBlock* blocks,
                                                                                  const ScaleSpread& spread,
                                                                                  int64_t n) {
    const int64_t row_bytes = s.row_bytes(), groups = s.groups(), ahead = tiles_ahead * N * row_bytes;
    const uint8_t* steps = data.steps + n * row_bytes;
    const float* scale = data.scale + n * groups;
    __m512 sums[digit_tile_rows] = {};
    for (int64_t byte = 0; byte < row_bytes; byte += DigitBlock::bytes, ++blocks) {
        const __m512 unit = _mm512_loadu_ps(blocks->unit);
#pragma GCC unroll 4
        for (int r = 0; r < N; ++r) {
            const uint8_t* from = steps + r * row_bytes + byte;
            _mm_prefetch(reinterpret_cast<const char*>(from + ahead), _MM_HINT_T0);
            const __m512 scales =
                _mm512_maskz_loadu_ps(spread.loaded, scale + r * groups + byte / spread.group_bytes);
            const __m512 factor = _mm512_mul_ps(_mm512_permutexvar_ps(spread.index, scales), unit);
            sums[r] = _mm512_fmadd_ps(sums_of_block<bits>(from, *blocks), factor, sums[r]);
        }
    }
    return sums_of_lanes(sums);
}

template <int bits>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void multiply_tiles(const CompressedWeight& s,
                                                                           const CompressedData& data,
                                                                           const DigitBlock* blocks,
                                                                           int64_t first, int64_t last,
                                                                           float* y) {
    const ScaleSpread spread = scale_spread(s);
    int64_t n = first;
    for (; n + digit_tile_rows <= last; n += digit_tile_rows)
        _mm_storeu_ps(y + n, multiply_digit_rows<bits, digit_tile_rows>(s, data, blocks, spread, n));
    for (; n < last; ++n) _mm_store_ss(y + n, multiply_digit_rows<bits, 1>(s, data, blocks, spread, n));
}

}  // namespace

bool has_digit_rows(const CompressedWeight& s) {
    const int64_t group = s.group_bytes();
    if (s.columns == 0 || s.columns % s.group || s.row_bytes() % DigitBlock::bytes) return false;
    if (group % digit_part_bytes || (DigitBlock::bytes % group && group % DigitBlock::bytes)) return false;
    return has_quads() && cpu_isa() >= Isa::avx512_vnni;
}

bool make_digits(const CompressedWeight& s, const float* x, DigitBlock* blocks) {
    return s.bits == 8 ? make_blocks<8>(s, x, blocks) : make_blocks<4>(s, x, blocks);
}

void multiply_digits(const CompressedWeight& s, const CompressedData& data, const DigitBlock* blocks,
                     int64_t first, int64_t last, float* y) {
    if (s.bits == 8)
        multiply_tiles<8>(s, data, blocks, first, last, y);
    else
        multiply_tiles<4>(s, data, blocks, first, last, y);
}

}  // namespace mge::cpu
