// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/map_bytes.h"

#include <arm_neon.h>

#include <cstring>

namespace mge::cpu {
namespace {

constexpr int64_t vector = 16;

// Each look-up finds the elements of a quarter of the table, and leaves the others.
inline uint8x16_t look_up(const uint8x16x4_t (&table)[4], uint8x16_t place) {
    const uint8x16_t quarter = vdupq_n_u8(64);
    uint8x16_t found = vqtbl4q_u8(table[0], place);
    for (int i = 1; i < 4; ++i) {
        place = vsubq_u8(place, quarter);
        found = vqtbx4q_u8(found, table[i], place);
    }
    return found;
}

}  // namespace

bool permutes_bytes() { return true; }

void map_by_permutes(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
    uint8x16x4_t quarters[4];
    for (int i = 0; i < 4; ++i) quarters[i] = vld1q_u8_x4(table + i * 64);
    int64_t i = 0;
    for (; i + vector <= n; i += vector) vst1q_u8(y + i, look_up(quarters, vld1q_u8(x + i)));
    if (i == n) return;
    uint8_t rest[vector] = {};
    std::memcpy(rest, x + i, size_t(n - i));
    vst1q_u8(rest, look_up(quarters, vld1q_u8(rest)));
    std::memcpy(y + i, rest, size_t(n - i));
}

}  // namespace mge::cpu
