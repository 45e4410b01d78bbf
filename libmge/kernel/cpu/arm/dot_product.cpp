// SPDX-License-Identifier: Apache-2.0
// Byte products for processors that add four products in 32 bits (sdot). The instruction is for two signed
// factors: 128 is subtracted from rows of u8. The sums of the weight, stored behind the words of a panel,
// make up for that and for the zero point. Highway of Debian 12 has no byte products, so this uses the
// processor's intrinsics.
#include <arm_neon.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/byte_product.h"

namespace mge::cpu {
namespace {

// 24 vectors of sums, one of each of six rows, one of the weight and the offset of u8 in 32 registers.
constexpr int most_rows = 6, most_vectors = 4;
constexpr int64_t lanes = 4, word = 4, panel_columns = most_vectors * lanes,
                  word_bytes = panel_columns * word;
constexpr int64_t vector_bytes = 16;

int64_t bytes_of_panel(int64_t k) { return k * panel_columns + panel_columns * int64_t(sizeof(int32_t)); }

void complete_panel(int8_t* panel, int64_t k) {
    std::array<int32_t, size_t(panel_columns)> sums{};
    for (int64_t i = 0; i < k * panel_columns; ++i) sums[size_t(i / word % panel_columns)] += panel[i];
    std::memcpy(panel + k * panel_columns, sums.data(), sizeof(sums));
}

// Nothing is bounded.
int64_t measures_of_tile(int64_t) { return 0; }
void measure(const ByteRows&, float*) {}

// In assembly, because GCC 12 would load all words of the weight before these products, and then lacks
// registers.
template <int lane>
__attribute__((target("arch=armv8.2-a+dotprod"), always_inline)) inline int32x4_t add_product(
    int32x4_t sum, int8x16_t weight, int8x16_t x) {
    asm volatile("sdot %0.4s, %1.16b, %2.4b[%c3]" : "+w"(sum) : "w"(weight), "w"(x), "i"(lane));
    return sum;
}

template <int lane, int rows, int vectors>
__attribute__((target("arch=armv8.2-a+dotprod"), always_inline)) inline void add_products(
    int32x4_t (&sums)[rows][vectors], const int8x16_t (&x)[rows], const int8_t* weight) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v += 2) {
        const int8x16_t first = vld1q_s8(weight + v * vector_bytes);
        const int8x16_t second = vld1q_s8(weight + (v + 1) * vector_bytes);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            sums[r][v] = add_product<lane>(sums[r][v], first, x[r]);
            sums[r][v + 1] = add_product<lane>(sums[r][v + 1], second, x[r]);
        }
    }
}

// The signed values of a row, those of u8 less 128.
template <bool is_signed>
inline int8x16_t signed_bytes(uint8x16_t x) {
    return vreinterpretq_s8_u8(is_signed ? x : veorq_u8(x, vdupq_n_u8(128)));
}

template <bool is_signed, int rows, int vectors>
__attribute__((target("arch=armv8.2-a+dotprod"))) void multiply_panel(const ByteRows& a, const uint8_t* first,
                                                                      const int8_t* weight,
                                                                      const int8_t* weight_sums,
                                                                      int32_t* to) {
    int32x4_t sums[rows][vectors];
    const int64_t stride = a.stride;
    const int32_t offset = (is_signed ? 0 : 128) - a.zero;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
        const int32x4_t of_weight = vreinterpretq_s32_s8(vld1q_s8(weight_sums + v * vector_bytes));
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) sums[r][v] = vmulq_n_s32(of_weight, offset);
    }
    for (int64_t part : a.parts) {
        const uint8_t *x = first + part, *end = x + a.part_bytes;
        int8x16_t bytes[rows];
        for (; end - x >= vector_bytes; x += vector_bytes, weight += 4 * word_bytes) {
            uint8x16_t flips;  // the highest bits, each time anew: there is no register for them
            if (!is_signed) asm volatile("movi %0.16b, #128" : "=w"(flips));
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) {
                const uint8x16_t given = vld1q_u8(x + r * stride);
                bytes[r] = vreinterpretq_s8_u8(is_signed ? given : veorq_u8(given, flips));
            }
            add_products<0>(sums, bytes, weight);
            add_products<1>(sums, bytes, weight + word_bytes);
            add_products<2>(sums, bytes, weight + 2 * word_bytes);
            add_products<3>(sums, bytes, weight + 3 * word_bytes);
        }
        for (; x < end; x += word, weight += word_bytes) {
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) {
                uint32_t some;
                std::memcpy(&some, x + r * stride, sizeof(some));
                bytes[r] = signed_bytes<is_signed>(vreinterpretq_u8_u32(vdupq_n_u32(some)));
            }
            add_products<0>(sums, bytes, weight);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) vst1q_s32(to + r * product_columns + v * lanes, sums[r][v]);
}

template <bool is_signed, int vectors, int... rows>
constexpr auto panels_of(std::integer_sequence<int, rows...>) {
    return std::array{&multiply_panel<is_signed, rows + 1, vectors>...};
}

template <bool is_signed>
void multiply(const ByteRows& a, const int8_t* weight, int32_t* sums) {
    constexpr std::make_integer_sequence<int, most_rows> all;
    static constexpr auto halves = panels_of<is_signed, most_vectors / 2>(all);
    static constexpr auto panels = panels_of<is_signed, most_vectors>(all);
    const int64_t k = int64_t(a.parts.size()) * a.part_bytes;
    for (int64_t c = 0; c < a.columns; c += panel_columns, weight += bytes_of_panel(k)) {
        const auto& these = a.columns - c > panel_columns / 2 ? panels : halves;
        for (int64_t i = 0; i < a.count; i += most_rows)
            these[size_t(std::min<int64_t>(most_rows, a.count - i) - 1)](a, a.first + i * a.stride, weight,
                                                                         weight + k * panel_columns,
                                                                         sums + i * product_columns + c);
    }
}

constexpr ByteBounds bounds{.bytes_of_panel = bytes_of_panel,
                            .complete_panel = complete_panel,
                            .measures_of_tile = measures_of_tile,
                            .measure = measure,
                            .measure_signed = measure};
constexpr ByteProduct dots{.name = "dots",
                           .rows = most_rows,
                           .depth = word,
                           .word = word,
                           .panel = panel_columns,
                           .takes_wide = false,
                           .multiply = multiply<false>,
                           .multiply_signed = multiply<true>,
                           .bounds = &bounds,
                           .takes_tiles = true};

// --- channels that do not mix ---

// Words of four taps, those of the channels side by side.
constexpr int64_t window_channels = vector_bytes;
int64_t place_of_tap(int64_t tap, int64_t channel) {
    return tap / word * byte_channels * word + channel * word + tap % word;
}

struct TapWords {
    int8x16_t channels[most_vectors];
};
// The words of 16 channels, each byte less 128 if it is unsigned.
template <bool is_signed>
inline TapWords interleave(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint16x8_t ab0 = vreinterpretq_u16_u8(vzip1q_u8(a, b)), ab1 = vreinterpretq_u16_u8(vzip2q_u8(a, b));
    const uint16x8_t cd0 = vreinterpretq_u16_u8(vzip1q_u8(c, d)), cd1 = vreinterpretq_u16_u8(vzip2q_u8(c, d));
    return {{signed_bytes<is_signed>(vreinterpretq_u8_u16(vzip1q_u16(ab0, cd0))),
             signed_bytes<is_signed>(vreinterpretq_u8_u16(vzip2q_u16(ab0, cd0))),
             signed_bytes<is_signed>(vreinterpretq_u8_u16(vzip1q_u16(ab1, cd1))),
             signed_bytes<is_signed>(vreinterpretq_u8_u16(vzip2q_u16(ab1, cd1)))}};
}

// As many pixels at once as leave registers for the weights. Sums of i8 are of bytes that are 128 larger, so
// that both start with 128 times the sum of the weights.
template <int pixels, bool is_signed, class Load>
__attribute__((target("arch=armv8.2-a+dotprod"), always_inline)) inline void multiply_channels(
    const ByteWindows& w, int64_t c, int64_t i, const int32x4_t (&start)[most_vectors], const Load& load) {
    int32x4_t sums[pixels][most_vectors];
#pragma GCC unroll 4
    for (int j = 0; j < pixels; ++j)
#pragma GCC unroll 4
        for (int v = 0; v < most_vectors; ++v) sums[j][v] = start[v];
    const int8_t* weight = static_cast<const int8_t*>(w.weight) + c * word;
    for (size_t t = 0; t < w.taps.size(); t += word, weight += byte_channels * word) {
        const uint8_t* const* taps = w.taps.data() + t;
        const int64_t from = i * w.step + c;
        int8x16_t factors[most_vectors];
#pragma GCC unroll 4
        for (int v = 0; v < most_vectors; ++v) factors[v] = vld1q_s8(weight + v * vector_bytes);
#pragma GCC unroll 4
        for (int j = 0; j < pixels; ++j) {
            const int64_t at = from + j * w.step;
            const TapWords x = interleave<is_signed>(load(taps[0] + at), load(taps[1] + at),
                                                     load(taps[2] + at), load(taps[3] + at));
#pragma GCC unroll 4
            for (int v = 0; v < most_vectors; ++v)
                sums[j][v] = vdotq_s32(sums[j][v], x.channels[v], factors[v]);
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < pixels; ++j)
#pragma GCC unroll 4
        for (int v = 0; v < most_vectors; ++v)
            vst1q_s32(w.sums + (i + j) * byte_channels + c + v * lanes, sums[j][v]);
}

template <bool is_signed, class Load>
__attribute__((target("arch=armv8.2-a+dotprod"))) void multiply_pixels(const ByteWindows& w, int64_t c,
                                                                       const Load& load) {
    constexpr int together = 4;
    int32x4_t start[most_vectors] = {};
    const int8_t* weight = static_cast<const int8_t*>(w.weight) + c * word;
    for (size_t t = 0; t < w.taps.size(); t += word, weight += byte_channels * word)
        for (int v = 0; v < most_vectors; ++v)
            start[v] = vdotq_s32(start[v], vld1q_s8(weight + v * vector_bytes), vdupq_n_s8(1));
    for (auto& sum : start) sum = vshlq_n_s32(sum, 7);
    int64_t i = 0;
    for (; i + together <= w.count; i += together)
        multiply_channels<together, is_signed>(w, c, i, start, load);
    for (; i < w.count; ++i) multiply_channels<1, is_signed>(w, c, i, start, load);
}

// The words of a column of three taps of 16 channels. The fourth has weight 0.
template <bool is_signed>
inline TapWords column_at(const uint8_t* const (&rows)[3], int64_t at) {
    auto bytes = [&](int r) { return vreinterpretq_u8_s8(signed_bytes<is_signed>(vld1q_u8(rows[r] + at))); };
    const uint8x16_t a = bytes(0), b = bytes(1), c = bytes(2);
    return interleave<true>(a, b, c, c);
}

// Windows of 3×3 taps that are a column apart: each column is interleaved once, for three windows.
template <bool is_signed>
__attribute__((target("arch=armv8.2-a+dotprod"))) void multiply_columns(const ByteWindows& w, int64_t c) {
    constexpr int columns = 3;
    const int8_t* weight = static_cast<const int8_t*>(w.weight) + c * word;
    int8x16_t factors[columns][most_vectors];
    alignas(16) int32_t start[most_vectors * lanes];
#pragma GCC unroll 4
    for (int v = 0; v < most_vectors; ++v) {
        int32x4_t sum = vdupq_n_s32(0);
#pragma GCC unroll 3
        for (int t = 0; t < columns; ++t) {
            factors[t][v] = vld1q_s8(weight + t * byte_channels * word + v * vector_bytes);
            sum = vdotq_s32(sum, factors[t][v], vdupq_n_s8(1));
        }
        vst1q_s32(start + v * lanes, vshlq_n_s32(sum, 7));
    }
    const uint8_t* const rows[] = {w.taps[0] + c, w.taps[1] + c, w.taps[2] + c};
    int32_t *sums = w.sums + c, *const end = sums + w.count * byte_channels;
    int64_t at = 0;
    auto next = [&] { return column_at<is_signed>(rows, std::exchange(at, at + w.step)); };
    auto multiply = [&](const TapWords& left, const TapWords& middle, const TapWords& right)
        __attribute__((target("arch=armv8.2-a+dotprod"))) {
#pragma GCC unroll 4
        for (int v = 0; v < most_vectors; ++v) {
            int32x4_t sum = vdotq_s32(vld1q_s32(start + v * lanes), left.channels[v], factors[0][v]);
            sum = vdotq_s32(sum, middle.channels[v], factors[1][v]);
            vst1q_s32(sums + v * lanes, vdotq_s32(sum, right.channels[v], factors[2][v]));
        }
        sums += byte_channels;
    };
    TapWords x = next(), y = next(), z;
    for (;;) {
        z = next();
        multiply(x, y, z);
        if (sums == end) return;
        x = next();
        multiply(y, z, x);
        if (sums == end) return;
        y = next();
        multiply(z, x, y);
        if (sums == end) return;
    }
}

struct AllChannels {
    uint8x16_t operator()(const uint8_t* x) const { return vld1q_u8(x); }
};
struct FirstChannels {
    size_t count;
    uint8x16_t operator()(const uint8_t* x) const {
        std::array<uint8_t, size_t(window_channels)> some{};
        std::memcpy(some.data(), x, count);
        return vld1q_u8(some.data());
    }
};

template <bool is_signed>
void multiply_windows(const ByteWindows& w) {
    for (int64_t c = 0; c < w.channels; c += window_channels)
        if (w.channels - c >= window_channels && w.column == w.step)
            multiply_columns<is_signed>(w, c);
        else if (w.channels - c >= window_channels)
            multiply_pixels<is_signed>(w, c, AllChannels());
        else
            multiply_pixels<is_signed>(w, c, FirstChannels{size_t(w.channels - c)});
}
void multiply_windows(const ByteWindows& w) {
    w.is_signed ? multiply_windows<true>(w) : multiply_windows<false>(w);
}

constexpr ByteWindowKernel windows{.taps_together = word,
                                   .weight_bytes = 1,
                                   .orders_by_columns = true,
                                   .place_of_tap = place_of_tap,
                                   .multiply = multiply_windows};

}  // namespace

const ByteWindowKernel* dot_windows() { return cpu_isa() >= Isa::neon_dotprod ? &windows : nullptr; }
const ByteProduct* dot_product() { return cpu_isa() >= Isa::neon_dotprod ? &dots : nullptr; }

}  // namespace mge::cpu
