// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/quad_windows.h"

#include "libmge/kernel/cpu/x86/quad_steps-inl.h"

namespace mge::cpu {
namespace {

constexpr int64_t vector = 64, lanes = 16, lane_bytes = 16;
constexpr int vectors = entry_bytes / vector;

// A pixel's channels, or those of several pixels that are far apart.
template <int pixels>
class PixelLoader {
public:
    __attribute__((target("avx512f,avx512bw,avx512vl")))
    PixelLoader(const EntryFilling& filling, const QuadLine& line)
        : line_(line),
          present_(filling.channels < vector ? (1ull << filling.channels) - 1 : ~0ull),
          sign_(_mm512_set1_epi8(line.is_signed ? char(-128) : char(0))),
          outside_(_mm512_set1_epi8(char(line.outside))) {}
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"), always_inline)) __m512i load(
        int64_t p) const {
        if constexpr (pixels == 1) {
            if (!has(p)) return outside_;
            return _mm512_xor_si512(_mm512_maskz_loadu_epi8(present_, at(p)), sign_);
        } else if constexpr (pixels == 2) {
            // With a mask that covers everything: GCC 12 warns of the function without one.
            return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(half(p)), half(p + line_.apart), 1);
        } else {
            __m512i all = _mm512_castsi128_si512(quarter(p));
            all = _mm512_maskz_inserti32x4(0xffff, all, quarter(p + line_.apart), 1);
            all = _mm512_maskz_inserti32x4(0xffff, all, quarter(p + 2 * line_.apart), 2);
            return _mm512_maskz_inserti32x4(0xffff, all, quarter(p + 3 * line_.apart), 3);
        }
    }

private:
    bool has(int64_t p) const { return p >= 0 && p < line_.width; }
    const uint8_t* at(int64_t p) const { return line_.x + p * line_.pixel_bytes; }
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) __m256i half(int64_t p) const {
        if (!has(p)) return _mm512_castsi512_si256(outside_);
        __m256i x = _mm256_maskz_loadu_epi8(__mmask32(present_), at(p));
        return _mm256_xor_si256(x, _mm512_castsi512_si256(sign_));
    }
    __attribute__((target("avx512f,avx512bw,avx512vl"), always_inline)) __m128i quarter(int64_t p) const {
        if (!has(p)) return _mm512_castsi512_si128(outside_);
        __m128i x = _mm_maskz_loadu_epi8(__mmask16(present_), at(p));
        return _mm_xor_si128(x, _mm512_castsi512_si128(sign_));
    }

    const QuadLine& line_;
    __mmask64 present_;
    __m512i sign_, outside_;
};

template <int pixels>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) void interleave(const EntryFilling& filling,
                                                                              const QuadLine& line,
                                                                              uint8_t* to) {
    const PixelLoader<pixels> loader(filling, line);
    __m512i a = loader.load(line.first), b = loader.load(line.first + 1);
    __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    for (int64_t i = 0, p = line.first + entry_step; i < line.entries;
         ++i, p += entry_step, to += entry_bytes) {
        a = loader.load(p);
        b = loader.load(p + 1);
        const __m512i next_low = _mm512_unpacklo_epi8(a, b), next_high = _mm512_unpackhi_epi8(a, b);
        _mm512_store_si512(to, _mm512_unpacklo_epi16(low, next_low));
        _mm512_store_si512(to + vector, _mm512_unpackhi_epi16(low, next_low));
        _mm512_store_si512(to + 2 * vector, _mm512_unpacklo_epi16(high, next_high));
        _mm512_store_si512(to + 3 * vector, _mm512_unpackhi_epi16(high, next_high));
        low = next_low;
        high = next_high;
    }
}

// The sums of a window. `entries` is their number, or 0 if it is not known.
template <int entries>
__attribute__((target("avx512f,avx512vnni"), always_inline)) inline void sum_window(
    const QuadWindows& w, int64_t i, __m512i (&sums)[vectors]) {
    const int64_t first = i * w.step, offset = first / entry_step * entry_bytes;
    const int8_t* weight = w.weight + first % entry_step * w.weight_of_second;
    const size_t n = entries ? size_t(entries) : w.entries.size();
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[v] = _mm512_loadu_si512(w.start + v * lanes);
#pragma GCC unroll 3
    for (size_t t = 0; t < n; ++t)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
            sums[v] = _mm512_dpbusd_epi32(sums[v], _mm512_loadu_si512(w.entries[t] + offset + v * vector),
                                          _mm512_loadu_si512(weight + int64_t(t) * entry_bytes + v * vector));
}

// Narrowing leaves the steps in the order of the image's bytes.
template <int pixels>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"), always_inline)) inline void store_pixels(
    const QuadWindows& w, __mmask64 present, int64_t i, __m512i steps) {
    uint8_t* y = w.y + i * w.y_stride;
    if constexpr (pixels == 1) return _mm512_mask_storeu_epi8(y, present, steps);
    const int64_t far = w.apart * w.y_stride;
    if constexpr (pixels == 2) {
        _mm256_mask_storeu_epi8(y, __mmask32(present), _mm512_castsi512_si256(steps));
        if (i + w.apart < w.width)
            _mm256_mask_storeu_epi8(y + far, __mmask32(present), _mm512_extracti64x4_epi64(steps, 1));
    } else {
        const auto channels = __mmask16(present);
        _mm_mask_storeu_epi8(y, channels, _mm512_castsi512_si128(steps));
        if (i + w.apart < w.width)
            _mm_mask_storeu_epi8(y + far, channels, _mm512_extracti32x4_epi32(steps, 1));
        if (i + 2 * w.apart < w.width)
            _mm_mask_storeu_epi8(y + 2 * far, channels, _mm512_extracti32x4_epi32(steps, 2));
        if (i + 3 * w.apart < w.width)
            _mm_mask_storeu_epi8(y + 3 * far, channels, _mm512_extracti32x4_epi32(steps, 3));
    }
}

template <int pixels, int entries, bool is_short>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"))) void steps_of_line(
    const QuadWindows& w, const QuadSteps& quad_steps) {
    const QuadStepVectors s = in_vectors(quad_steps);
    const __mmask64 present = w.filling.channels < vector ? (1ull << w.filling.channels) - 1 : ~0ull;
    __m512 scale[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) scale[v] = _mm512_loadu_ps(w.scale + v * lanes);
    for (int64_t i = 0; i < w.count; ++i) {
        __m512i sums[vectors], q[vectors];
        sum_window<entries>(w, i, sums);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) q[v] = rounded_quotients<is_short>(s, real_of(sums[v], scale[v]));
        __m512i steps = narrow_steps(s, wide_steps(s, q[0], q[1]), wide_steps(s, q[2], q[3]));
        store_pixels<pixels>(w, present, i, steps);
    }
}
template <int pixels>
void steps_of_line(const QuadWindows& w, const QuadSteps& steps) {
    constexpr size_t usual = 3;
    if (w.entries.size() == usual)
        return steps.is_short ? steps_of_line<pixels, int(usual), true>(w, steps)
                              : steps_of_line<pixels, int(usual), false>(w, steps);
    return steps.is_short ? steps_of_line<pixels, 0, true>(w, steps)
                          : steps_of_line<pixels, 0, false>(w, steps);
}

}  // namespace

EntryFilling::EntryFilling(int64_t channels)
    : channels(channels),
      pixels(channels > vector / 2   ? 1
             : channels > vector / 4 ? 2
                                     : 4) {}

// Bytes are interleaved within lanes of 16: vector v has those of four channels from 4 v on.
int64_t channel_of_sum(const EntryFilling& filling, int64_t place) {
    const int64_t v = place / lanes, lane = place % lanes / 4;
    return (lane * lane_bytes + v * 4 + place % 4) % filling.channels_of_pixel();
}
int64_t place_of_weight(int64_t sum, int64_t tap) { return sum * entry_pixels + tap; }

void interleave_line(const EntryFilling& filling, const QuadLine& line, uint8_t* to) {
    auto* all = filling.pixels == 1 ? interleave<1> : filling.pixels == 2 ? interleave<2> : interleave<4>;
    all(filling, line, to);
}

void multiply_windows(const QuadWindows& w, const QuadSteps& steps) {
    const int64_t pixels = w.filling.pixels;
    auto* multiply = pixels == 1 ? steps_of_line<1> : pixels == 2 ? steps_of_line<2> : steps_of_line<4>;
    multiply(w, steps);
}

__attribute__((target("avx512f,avx512vnni"))) void multiply_windows(const QuadWindows& w, int32_t* to) {
    for (int64_t i = 0; i < w.count; ++i, to += window_channels) {
        __m512i sums[vectors];
        sum_window<0>(w, i, sums);
        // Lane l of sums[v] contains the channels from 16 l + 4 v on.
        const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44);
        const __m512i b = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
        const __m512i c = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
        const __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
        _mm512_storeu_si512(to, _mm512_shuffle_i32x4(a, b, 0x88));
        _mm512_storeu_si512(to + lanes, _mm512_shuffle_i32x4(a, b, 0xdd));
        _mm512_storeu_si512(to + 2 * lanes, _mm512_shuffle_i32x4(c, d, 0x88));
        _mm512_storeu_si512(to + 3 * lanes, _mm512_shuffle_i32x4(c, d, 0xdd));
    }
}

}  // namespace mge::cpu
