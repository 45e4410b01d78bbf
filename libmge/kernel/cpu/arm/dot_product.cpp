// SPDX-License-Identifier: Apache-2.0
// Byte products for processors that add four products in 32 bits (sdot). The instruction is for two signed
// factors: 128 is subtracted from rows of u8. The sums of the weight, stored behind the words of a panel,
// make up for that and for the zero point. Highway of Debian 12 has no byte products, so this uses the
// processor's intrinsics.
#include <arm_neon.h>

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

template <int lane, int rows, int vectors>
__attribute__((target("arch=armv8.2-a+dotprod"), always_inline)) inline void add_products(
    int32x4_t (&sums)[rows][vectors], const int8x16_t (&x)[rows], const int8_t* weight) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
        const int8x16_t w = vld1q_s8(weight + v * vector_bytes);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) sums[r][v] = vdotq_laneq_s32(sums[r][v], w, x[r], lane);
        // GCC 12 would load the next words of the weight before these products, and then lacks registers.
        asm volatile("" ::: "memory");
    }
}

// The signed values of a row, those of u8 less 128.
template <bool is_signed>
inline int8x16_t signed_bytes(uint8x16_t x) {
    return vreinterpretq_s8_u8(is_signed ? x : veorq_u8(x, vdupq_n_u8(128)));
}

template <bool is_signed, int rows, int vectors>
__attribute__((target("arch=armv8.2-a+dotprod"))) void multiply_panel(const ByteRows& a, const int8_t* weight,
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
        const uint8_t *x = a.first + part, *end = x + a.part_bytes;
        int8x16_t bytes[rows];
        for (; end - x >= vector_bytes; x += vector_bytes, weight += 4 * word_bytes) {
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) bytes[r] = signed_bytes<is_signed>(vld1q_u8(x + r * stride));
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
        these[size_t(a.count - 1)](a, weight, weight + k * panel_columns, sums + c);
    }
}
void nothing() {}

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
                           .begin = nothing,
                           .end = nothing,
                           .multiply = multiply<false>,
                           .multiply_signed = multiply<true>,
                           .bounds = &bounds};

}  // namespace

const ByteProduct* dot_product() { return cpu_isa() >= Isa::neon_dotprod ? &dots : nullptr; }

}  // namespace mge::cpu
