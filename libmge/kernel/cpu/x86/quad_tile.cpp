// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no byte products, so this uses the processor's intrinsics.
#include <immintrin.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/integer_tile.h"

namespace mge::cpu {
namespace {

constexpr int tile_rows = 12;  // 24 sums, two words of b and one of a in 32 registers
constexpr int64_t lanes = 16;

__attribute__((target("avx512f,avx512vnni"))) void multiply(const int32_t* a, const int32_t* b, int64_t words,
                                                            int32_t* sums, int64_t stride) {
    __m512i left[tile_rows], right[tile_rows];
#pragma GCC unroll 16
    for (int r = 0; r < tile_rows; ++r) left[r] = right[r] = _mm512_setzero_si512();
    for (int64_t i = 0; i < words; ++i, a += tile_rows, b += 2 * lanes) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + lanes);
#pragma GCC unroll 16
        for (int r = 0; r < tile_rows; ++r) {
            __m512i x = _mm512_set1_epi32(a[r]);
            left[r] = _mm512_dpbusd_epi32(left[r], x, b0);
            right[r] = _mm512_dpbusd_epi32(right[r], x, b1);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < tile_rows; ++r) {
        _mm512_storeu_si512(sums + r * stride, left[r]);
        _mm512_storeu_si512(sums + r * stride + lanes, right[r]);
    }
}

constexpr IntegerTile tile{tile_rows, 2 * lanes, 4, multiply};

}  // namespace

const IntegerTile* quad_tile() { return cpu_isa() >= Isa::avx512_vnni ? &tile : nullptr; }

}  // namespace mge::cpu
