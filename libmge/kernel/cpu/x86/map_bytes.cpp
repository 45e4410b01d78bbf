// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no target with these instructions, so this uses the processor's intrinsics.
#include "libmge/kernel/cpu/rows/map_bytes.h"

#include <immintrin.h>

#include "libmge/device/cpu/cpu_device.h"

namespace mge::cpu {

bool permutes_bytes() {
    // Processors with VNNI alone have no such permutation.
    return cpu_isa() >= Isa::avx512_vnni && __builtin_cpu_supports("avx512vbmi");
}

// A byte's highest bit chooses between the two halves of the table.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void map_by_permutes(const uint8_t* x, uint8_t* y,
                                                                            int64_t n, const uint8_t* table) {
    constexpr int64_t vector = 64;
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + vector);
    const __m512i c = _mm512_loadu_si512(table + 2 * vector), d = _mm512_loadu_si512(table + 3 * vector);
    for (int64_t i = 0; i < n; i += vector) {
        const __mmask64 present = n - i < vector ? (1ull << (n - i)) - 1 : ~0ull;
        const __m512i place = _mm512_maskz_loadu_epi8(present, x + i);
        const __m512i low = _mm512_permutex2var_epi8(a, place, b);
        const __m512i high = _mm512_permutex2var_epi8(c, place, d);
        const __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(place), low, high);
        _mm512_mask_storeu_epi8(y + i, present, found);
    }
}

}  // namespace mge::cpu
