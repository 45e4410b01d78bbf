// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "libmge/kernel/cpu/peak.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/quad_product.h"

namespace mge::cpu {
namespace {

// Twelve independent sums, as those of multiply_adds. Assembly keeps them apart and in registers.
__attribute__((target("avx512f,avx512vnni"))) double multiply_quads(int64_t rounds) {
    constexpr int sums = 12, operations = 2 * 64;
    __m512i sum[sums];
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm512_setzero_si512();
    const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(1);
    for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (auto& s : sum) asm volatile("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b));
    return double(rounds) * sums * operations;
}

// Four sums take longer than the latency of one.
__attribute__((target("amx-tile,amx-int8"))) double multiply_tiles(int64_t rounds) {
    constexpr double sums = 4, operations = 2.0 * double(tile_rows * tile_rows * tile_row_bytes);
    begin_tiles();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    for (int64_t i = 0; i < rounds; ++i) {
        _tile_dpbusd(0, 4, 5);
        _tile_dpbusd(1, 4, 5);
        _tile_dpbusd(2, 4, 5);
        _tile_dpbusd(3, 4, 5);
    }
    end_tiles();
    return double(rounds) * sums * operations;
}

}  // namespace

double multiply_bytes(int64_t rounds) {
    // A product of tiles takes as long as sixteen of vectors.
    if (has_matrix_tiles()) return multiply_tiles(rounds / 16 + 1);
    return has_quads() ? multiply_quads(rounds) : multiply_pairs(rounds);
}

}  // namespace mge::cpu
