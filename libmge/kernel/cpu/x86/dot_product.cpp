// SPDX-License-Identifier: Apache-2.0
// Byte products for processors that add four products in 32 bits in vectors of 256 bits (AVX-VNNI).
#include <cpuid.h>
#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/byte_product.h"

namespace mge::cpu {
namespace {

// 12 sums, two words of the weight and one of the rows in 16 registers.
constexpr int most_rows = 6;
constexpr int64_t lanes = 8, word = 4, panel_columns = 2 * lanes, word_bytes = panel_columns * word;

__attribute__((target("avx2"), always_inline)) inline __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
__attribute__((target("avx2"), always_inline)) inline void store(int32_t* to, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}

// In assembly because GCC 12 copies the sums.
__attribute__((target("avx2,avxvnni"), always_inline)) inline void add_product(__m256i& sum, __m256i a,
                                                                               __m256i b) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
}

struct PanelSums {
    __m256i left, right;
};

// Bytes of i8 are multiplied as u8, 128 larger; this is how much larger the sums become.
__attribute__((target("avx2,avxvnni"))) PanelSums sums_of_offset(const int8_t* weight, int64_t k) {
    const __m256i offset = _mm256_set1_epi8(char(0x80));
    PanelSums sums{_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int64_t i = 0; i < k; i += word, weight += word_bytes) {
        add_product(sums.left, offset, load(weight));
        add_product(sums.right, offset, load(weight + lanes * word));
    }
    return sums;
}

template <bool is_signed, int rows>
__attribute__((target("avx2,avxvnni"))) void multiply_panel(const ByteRows& a, const int8_t* weight,
                                                            int64_t k, int32_t* to) {
    PanelSums start{_mm256_setzero_si256(), _mm256_setzero_si256()};
    if constexpr (is_signed) {
        const PanelSums larger = sums_of_offset(weight, k);
        start = {_mm256_sub_epi32(start.left, larger.left), _mm256_sub_epi32(start.right, larger.right)};
    }
    __m256i left[rows], right[rows];
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        left[r] = start.left;
        right[r] = start.right;
    }
    for (int64_t part : a.parts) {
        const uint8_t *x = a.first + part, *end = x + a.part_bytes;
        for (; x < end; x += word, weight += word_bytes) {
            const __m256i b0 = load(weight), b1 = load(weight + lanes * word);
#pragma GCC unroll 6
            for (int r = 0; r < rows; ++r) {
                int32_t bytes;
                std::memcpy(&bytes, x + r * a.stride, sizeof(bytes));
                __m256i both = _mm256_set1_epi32(bytes);
                if constexpr (is_signed) both = _mm256_xor_si256(both, _mm256_set1_epi8(char(0x80)));
                add_product(left[r], both, b0);
                add_product(right[r], both, b1);
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        store(to + r * product_columns, left[r]);
        store(to + r * product_columns + lanes, right[r]);
    }
}

template <bool is_signed, int... rows>
constexpr auto panels_of(std::integer_sequence<int, rows...>) {
    return std::array{&multiply_panel<is_signed, rows + 1>...};
}

template <bool is_signed>
void multiply(const ByteRows& a, const int8_t* weight, int32_t* sums) {
    static constexpr auto panels = panels_of<is_signed>(std::make_integer_sequence<int, most_rows>());
    const int64_t k = int64_t(a.parts.size()) * a.part_bytes;
    for (int64_t c = 0; c < a.columns; c += panel_columns, weight += panel_columns * k)
        panels[size_t(a.count - 1)](a, weight, k, sums + c);
}

constexpr ByteProduct dots{.name = "dots",
                           .rows = most_rows,
                           .depth = word,
                           .word = word,
                           .panel = panel_columns,
                           .takes_wide = false,
                           .multiply = multiply<false>,
                           .multiply_signed = multiply<true>};

// Processors with AVX-512 that are limited to older instructions may lack these.
bool multiplies_bytes() {
    constexpr unsigned avx_vnni = 1u << 4;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & avx_vnni);
}

}  // namespace

const ByteProduct* dot_product() {
    static const bool has_dots = cpu_isa() == Isa::avx_vnni && multiplies_bytes();
    return has_dots ? &dots : nullptr;
}
const ByteWindowKernel* dot_windows() { return nullptr; }

}  // namespace mge::cpu
