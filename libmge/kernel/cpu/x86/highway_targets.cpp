// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/highway_targets.h"

#include <cpuid.h>

#include "hwy/detect_targets.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::cpu {
namespace {

// A bit of register ECX, for features that not every compiler's __builtin_cpu_supports() has.
bool has_bit(unsigned leaf, int bit) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) && (ecx >> bit & 1);
}

// The features that Highway's code for a target may use, beyond those checked by cpu_isa().
bool has_rest_of_avx2() {
    bool has_f16c = has_bit(1, 29), has_lzcnt = has_bit(0x80000001, 5);
    return has_f16c && has_lzcnt && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool has_rest_of_avx3_dl() {
    bool has_vaes = has_bit(7, 9);
    return has_vaes && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("gfni") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

}  // namespace

int64_t find_highway_targets() {
    int64_t targets = HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4;
    if (cpu_isa() < Isa::avx2 || !has_rest_of_avx2()) return targets;
    targets |= HWY_AVX2;
    if (cpu_isa() < Isa::avx512 || !__builtin_cpu_supports("avx512cd")) return targets;
    targets |= HWY_AVX3;
    if (cpu_isa() >= Isa::avx512_vnni && has_rest_of_avx3_dl()) targets |= HWY_AVX3_DL;
    return targets;
}

}  // namespace mge::cpu
