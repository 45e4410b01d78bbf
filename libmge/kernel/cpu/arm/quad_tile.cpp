// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no byte products, so this uses the processor's intrinsics.
#include <arm_neon.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/integer_tile.h"

namespace mge::cpu {
namespace {

constexpr int tile_rows = 8, lanes = 4;  // 16 sums, two words of b and those of eight rows of a

inline int8x16_t load_bytes(const int32_t* words) { return vreinterpretq_s8_s32(vld1q_s32(words)); }

// The instruction is for two signed factors: 128 is subtracted from those of a, and 128 times the sum of
// those of b is added at the end.
__attribute__((target("arch=armv8.2-a+dotprod"))) void multiply(const int32_t* a, const int32_t* b,
                                                                int64_t words, int32_t* sums,
                                                                int64_t stride) {
    const int8x16_t sign = vdupq_n_s8(-128), one = vdupq_n_s8(1);
    int32x4_t left[tile_rows], right[tile_rows], left_b = vdupq_n_s32(0), right_b = left_b;
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) left[r] = right[r] = vdupq_n_s32(0);
    for (int64_t i = 0; i < words; ++i, a += tile_rows, b += 2 * lanes) {
        const int8x16_t b0 = load_bytes(b), b1 = load_bytes(b + lanes);
        const int8x16_t upper = veorq_s8(load_bytes(a), sign), lower = veorq_s8(load_bytes(a + lanes), sign);
        left_b = vdotq_s32(left_b, b0, one);
        right_b = vdotq_s32(right_b, b1, one);
        left[0] = vdotq_laneq_s32(left[0], b0, upper, 0);
        right[0] = vdotq_laneq_s32(right[0], b1, upper, 0);
        left[1] = vdotq_laneq_s32(left[1], b0, upper, 1);
        right[1] = vdotq_laneq_s32(right[1], b1, upper, 1);
        left[2] = vdotq_laneq_s32(left[2], b0, upper, 2);
        right[2] = vdotq_laneq_s32(right[2], b1, upper, 2);
        left[3] = vdotq_laneq_s32(left[3], b0, upper, 3);
        right[3] = vdotq_laneq_s32(right[3], b1, upper, 3);
        left[4] = vdotq_laneq_s32(left[4], b0, lower, 0);
        right[4] = vdotq_laneq_s32(right[4], b1, lower, 0);
        left[5] = vdotq_laneq_s32(left[5], b0, lower, 1);
        right[5] = vdotq_laneq_s32(right[5], b1, lower, 1);
        left[6] = vdotq_laneq_s32(left[6], b0, lower, 2);
        right[6] = vdotq_laneq_s32(right[6], b1, lower, 2);
        left[7] = vdotq_laneq_s32(left[7], b0, lower, 3);
        right[7] = vdotq_laneq_s32(right[7], b1, lower, 3);
    }
    left_b = vshlq_n_s32(left_b, 7);
    right_b = vshlq_n_s32(right_b, 7);
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) {
        vst1q_s32(sums + r * stride, vaddq_s32(left[r], left_b));
        vst1q_s32(sums + r * stride + lanes, vaddq_s32(right[r], right_b));
    }
}

constexpr IntegerTile tile{tile_rows, 2 * lanes, 4, multiply};

}  // namespace

const IntegerTile* quad_tile() { return cpu_isa() >= Isa::neon_dotprod ? &tile : nullptr; }

}  // namespace mge::cpu
