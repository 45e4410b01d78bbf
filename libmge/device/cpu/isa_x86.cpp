// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>

#include <fstream>

#include "libmge/device/cpu/isa_of_machine.h"

namespace mge {
namespace {

struct Leaf7 {
    unsigned eax = 0, edx = 0;
};
Leaf7 cpuid7_1() {
    Leaf7 leaf;
    unsigned ebx = 0, ecx = 0;
    __get_cpuid_count(7, 1, &leaf.eax, &ebx, &ecx, &leaf.edx);
    return leaf;
}
bool has_amx() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    constexpr unsigned bf16 = 1u << 22, tile = 1u << 24;
    return (edx & bf16) && (edx & tile);
}

Isa best_isa() {
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    bool bf16 = cpuid7_1().eax & 1u << 5, avx_vnni = cpuid7_1().eax & 1u << 4;
    if (avx512 && has_amx()) return Isa::amx;
    if (avx512 && bf16) return Isa::avx512_bf16;
    if (avx512 && __builtin_cpu_supports("avx512vnni")) return Isa::avx512_vnni;
    if (avx512) return Isa::avx512;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::sse4;
    return avx_vnni ? Isa::avx_vnni : Isa::avx2;
}

}  // namespace

IsaRange isas_of_machine() {
    static const Isa best = best_isa();
    return {Isa::sse4, best, Isa::amx};
}

std::string model_of_machine() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown CPU";
}

}  // namespace mge
