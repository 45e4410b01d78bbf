// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no byte products, so this uses the processor's intrinsics.
#include "libmge/kernel/cpu/product/byte_product.h"

#include <cpuid.h>
#include <immintrin.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t lanes = 16, word = 4;

// --- matrices: two tiles of 16 rows times two of 16 columns ---

template <bool is_signed>
__attribute__((target("amx-tile,amx-int8"))) void multiply_tiles(const ByteRows& a, const int8_t* weight,
                                                                 int32_t* sums) {
    constexpr int64_t weight_stride = product_columns * word;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t part : a.parts) {
        const uint8_t *upper = a.first + part, *lower = upper + tile_rows * a.stride;
        for (int64_t k = 0; k < a.part_bytes; k += tile_row_bytes, weight += tile_rows * weight_stride) {
            _tile_loadd(4, upper + k, a.stride);
            _tile_loadd(6, weight, weight_stride);
            _tile_loadd(7, weight + tile_row_bytes, weight_stride);
            _tile_loadd(5, lower + k, a.stride);
            if constexpr (is_signed) {
                _tile_dpbssd(0, 4, 6);
                _tile_dpbssd(1, 4, 7);
                _tile_dpbssd(2, 5, 6);
                _tile_dpbssd(3, 5, 7);
            } else {
                _tile_dpbusd(0, 4, 6);
                _tile_dpbusd(1, 4, 7);
                _tile_dpbusd(2, 5, 6);
                _tile_dpbusd(3, 5, 7);
            }
        }
    }
    constexpr int64_t sums_stride = product_columns * word;
    _tile_stored(0, sums, sums_stride);
    _tile_stored(1, sums + lanes, sums_stride);
    _tile_stored(2, sums + tile_rows * product_columns, sums_stride);
    _tile_stored(3, sums + tile_rows * product_columns + lanes, sums_stride);
}

bool multiplies_bytes_in_tiles() {
    constexpr unsigned int8 = 1u << 25;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_matrix_tiles() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & int8);
}

// --- channels that do not mix ---

int64_t place_of_tap(int64_t tap, int64_t channel) {
    int64_t lane = channel / 16, quad = channel % 16 / 4;  // as bytes are unpacked within lanes
    return tap / 4 * byte_channels * 4 + quad * 64 + lane * 16 + channel % 4 * 4 + tap % 4;
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void multiply_windows(const ByteWindows& w) {
    const __mmask64 present = w.channels < byte_channels ? (1ull << w.channels) - 1 : ~0ull;
    const __m512i shift = _mm512_set1_epi8(w.is_signed ? char(-128) : char(0));
    for (int64_t i = 0; i < w.count; ++i) {
        __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                           _mm512_setzero_si512()};
        auto* weight = static_cast<const int8_t*>(w.weight);
        for (size_t t = 0; t < w.taps.size(); t += 4, weight += 4 * byte_channels) {
            __m512i x[4];
#pragma GCC unroll 4
            for (size_t j = 0; j < 4; ++j)
                x[j] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(present, w.taps[t + j] + i * w.step), shift);
            __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]), high01 = _mm512_unpackhi_epi8(x[0], x[1]);
            __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]), high23 = _mm512_unpackhi_epi8(x[2], x[3]);
            sums[0] =
                _mm512_dpbusd_epi32(sums[0], _mm512_unpacklo_epi16(low01, low23), _mm512_loadu_si512(weight));
            sums[1] = _mm512_dpbusd_epi32(sums[1], _mm512_unpackhi_epi16(low01, low23),
                                          _mm512_loadu_si512(weight + 64));
            sums[2] = _mm512_dpbusd_epi32(sums[2], _mm512_unpacklo_epi16(high01, high23),
                                          _mm512_loadu_si512(weight + 128));
            sums[3] = _mm512_dpbusd_epi32(sums[3], _mm512_unpackhi_epi16(high01, high23),
                                          _mm512_loadu_si512(weight + 192));
        }
        // Lane l of sums[j] contains the channels from 16 l + 4 j on.
        __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44);
        __m512i b = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
        __m512i c = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
        __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
        int32_t* to = w.sums + i * byte_channels;
        _mm512_storeu_si512(to, _mm512_shuffle_i32x4(a, b, 0x88));
        _mm512_storeu_si512(to + lanes, _mm512_shuffle_i32x4(a, b, 0xdd));
        _mm512_storeu_si512(to + 2 * lanes, _mm512_shuffle_i32x4(c, d, 0x88));
        _mm512_storeu_si512(to + 3 * lanes, _mm512_shuffle_i32x4(c, d, 0xdd));
    }
}

constexpr ByteProduct tiles{.name = "matrices",
                            .rows = 2 * tile_rows,
                            .depth = tile_row_bytes,
                            .word = word,
                            .panel = product_columns,
                            .takes_wide = false,
                            .begin = begin_tiles,
                            .end = end_tiles,
                            .multiply = multiply_tiles<false>,
                            .multiply_signed = multiply_tiles<true>};

}  // namespace

const ByteProduct* matrix_product() {
    static const bool has_tiles = multiplies_bytes_in_tiles();
    return has_tiles ? &tiles : nullptr;
}

const ByteWindowKernel& byte_window_kernel() {
    static constexpr ByteWindowKernel quad_windows{4, 1, place_of_tap, multiply_windows};
    return cpu_isa() >= Isa::avx512_vnni ? quad_windows : pair_windows();
}

}  // namespace mge::cpu
