// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/peak.h"

namespace mge::cpu {
namespace {

// Twelve independent sums, as those of multiply_adds. Assembly keeps them apart and in registers.
__attribute__((target("arch=armv8.2-a+dotprod"))) double multiply_quads(int64_t rounds) {
    constexpr int sums = 12, operations = 2 * 16;
    int32x4_t sum[sums];
#pragma GCC unroll 12
    for (auto& s : sum) s = vdupq_n_s32(0);
    const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(1);
    for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (auto& s : sum) asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(s) : "w"(a), "w"(b));
    return double(rounds) * sums * operations;
}

}  // namespace

double multiply_bytes(int64_t rounds) {
    return cpu_isa() >= Isa::neon_dotprod ? multiply_quads(rounds) : multiply_pairs(rounds);
}

}  // namespace mge::cpu
