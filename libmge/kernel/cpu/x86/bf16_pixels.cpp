// SPDX-License-Identifier: Apache-2.0
// Beside matrix instructions, so these are the processor's intrinsics, too.
#include "libmge/kernel/cpu/product/bf16_pixels.h"

#include <immintrin.h>

#include <algorithm>

namespace mge::cpu {
namespace {

constexpr int64_t words = 16;  // in a vector: pairs of bf16
constexpr int64_t pairs = pixel_block / 2;
// GCC 12 warns of the forms without masks; it omits masks that are known.
constexpr __mmask16 all_words = 0xffff;
constexpr __mmask8 all_longs = 0xff;

// Two pixels, channel by channel: the first 16 channels and the others.
struct Pair {
    __m512i first, later;
};

alignas(64) constexpr uint16_t interleaved[] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};

__attribute__((target("avx512f,avx512bw"))) inline __m512i load(const PixelBlock& from, int64_t i,
                                                                __mmask32 present) {
    const uint16_t* pixel = from.pixels[i];
    return pixel ? _mm512_maskz_loadu_epi16(present, pixel + from.first) : _mm512_setzero_si512();
}
__attribute__((target("avx512f,avx512bw"))) inline Pair pair_at(const PixelBlock& from, int64_t i,
                                                                __mmask32 present) {
    const __m512i order = _mm512_load_si512(interleaved);
    const __m512i later = _mm512_or_si512(order, _mm512_set1_epi16(words));
    const __m512i a = load(from, 2 * i, present), b = load(from, 2 * i + 1, present);
    return {_mm512_permutex2var_epi16(a, order, b), _mm512_permutex2var_epi16(a, later, b)};
}

inline __mmask32 first_channels(int64_t count) {
    return count >= pixel_block ? ~__mmask32(0) : (__mmask32(1) << count) - 1;
}

// 16 rows of 16 words.
__attribute__((target("avx512f"))) inline void transpose_words(__m512i (&rows)[words], uint16_t* to,
                                                               int64_t stride) {
    __m512i t[words];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_maskz_unpacklo_epi32(all_words, rows[i], rows[i + 1]);
        t[i + 1] = _mm512_maskz_unpackhi_epi32(all_words, rows[i], rows[i + 1]);
    }
    // rows[4 i + j]: column j of each quarter of the vectors, of four rows.
    for (int i = 0; i < 16; i += 4) {
        rows[i] = _mm512_maskz_unpacklo_epi64(all_longs, t[i], t[i + 2]);
        rows[i + 1] = _mm512_maskz_unpackhi_epi64(all_longs, t[i], t[i + 2]);
        rows[i + 2] = _mm512_maskz_unpacklo_epi64(all_longs, t[i + 1], t[i + 3]);
        rows[i + 3] = _mm512_maskz_unpackhi_epi64(all_longs, t[i + 1], t[i + 3]);
    }
    constexpr int even = 0x88, odd = 0xdd;  // quarters from two vectors
    for (int j = 0; j < 4; ++j) {
        const __m512i a = _mm512_maskz_shuffle_i32x4(all_words, rows[j], rows[j + 4], even);
        const __m512i b = _mm512_maskz_shuffle_i32x4(all_words, rows[j + 8], rows[j + 12], even);
        const __m512i c = _mm512_maskz_shuffle_i32x4(all_words, rows[j], rows[j + 4], odd);
        const __m512i d = _mm512_maskz_shuffle_i32x4(all_words, rows[j + 8], rows[j + 12], odd);
        _mm512_storeu_si512(to + j * stride, _mm512_maskz_shuffle_i32x4(all_words, a, b, even));
        _mm512_storeu_si512(to + (j + 4) * stride, _mm512_maskz_shuffle_i32x4(all_words, c, d, even));
        _mm512_storeu_si512(to + (j + 8) * stride, _mm512_maskz_shuffle_i32x4(all_words, a, b, odd));
        _mm512_storeu_si512(to + (j + 12) * stride, _mm512_maskz_shuffle_i32x4(all_words, c, d, odd));
    }
}

}  // namespace

__attribute__((target("avx512f,avx512bw"))) void transpose_pixels(const PixelBlock& from, uint16_t* to,
                                                                  int64_t stride) {
    const __mmask32 present = first_channels(from.count);
    __m512i first[words], later[words];
    for (int64_t i = 0; i < pairs; ++i) {
        const Pair pair = pair_at(from, i, present);
        first[i] = pair.first;
        later[i] = pair.later;
    }
    transpose_words(first, to, stride);
    transpose_words(later, to + words * stride, stride);
}

__attribute__((target("avx512f,avx512bw"))) void pair_pixels(const PixelBlock& from, uint16_t* to) {
    const __mmask32 present = first_channels(from.count);
    for (int64_t i = 0; i < pairs; ++i, to += 2 * pixel_block) {
        const Pair pair = pair_at(from, i, present);
        _mm512_storeu_si512(to, pair.first);
        _mm512_storeu_si512(to + pixel_block, pair.later);
    }
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) void join_planes(
    const std::array<const uint16_t*, joined_planes>& planes, int64_t count, uint16_t* to) {
    // The words of 16 pixels: the first two planes', and the others'.
    const __m512i first_half = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i later_half = _mm512_or_si512(first_half, _mm512_set1_epi32(words / 2));
    auto pixels = [&](size_t plane, int64_t i, __mmask16 present)
        __attribute__((target("avx512f,avx512bw,avx512vl"))) {
        if (!planes[plane]) return _mm512_setzero_si512();
        return _mm512_maskz_cvtepu16_epi32(all_words, _mm256_maskz_loadu_epi16(present, planes[plane] + i));
    };
    auto pair = [&](size_t plane, int64_t i, __mmask16 present)
        __attribute__((target("avx512f,avx512bw,avx512vl"))) {
        const __m512i later = _mm512_maskz_slli_epi32(all_words, pixels(plane + 1, i, present), 16);
        return _mm512_or_si512(pixels(plane, i, present), later);
    };
    for (int64_t i = 0; i < count; i += words, to += words * joined_planes) {
        const int64_t rest = std::min(words, count - i);
        const auto present = __mmask16((1u << rest) - 1);
        const __m512i a = pair(0, i, present), b = pair(2, i, present);
        const auto longs = (1u << rest) - 1;
        _mm512_mask_storeu_epi64(to, __mmask8(longs), _mm512_permutex2var_epi32(a, first_half, b));
        _mm512_mask_storeu_epi64(to + words * joined_planes / 2, __mmask8(longs >> 8),
                                 _mm512_permutex2var_epi32(a, later_half, b));
    }
}

}  // namespace mge::cpu
