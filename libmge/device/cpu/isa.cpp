// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge {
namespace {

constexpr std::array<std::string_view, 7> isa_names{"sse4",        "avx2",        "avx_vnni", "avx512",
                                                    "avx512_vnni", "avx512_bf16", "amx"};

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

// Kernels are compiled per vector width: several sets share the kernels of the lowest.
[[maybe_unused]] constexpr Isa vectors_of(Isa isa) {
    return isa < Isa::avx2 ? Isa::sse4 : isa < Isa::avx512 ? Isa::avx2 : Isa::avx512;
}

// A library for one machine (MGE_NATIVE_KERNELS) has kernels for that machine's vectors and the baseline.
constexpr bool has_kernels([[maybe_unused]] Isa isa) {
#ifdef MGE_NATIVE_ISA
    return isa == Isa::sse4 || vectors_of(isa) == Isa::MGE_NATIVE_ISA;
#else
    return true;
#endif
}

std::string list_isas(bool (*is_listed)(Isa)) {
    std::string list;
    for (size_t i = 0; i < isa_names.size(); ++i)
        if (is_listed(Isa(i))) list += text(list.empty() ? "" : ", ", isa_names[i]);
    return list;
}

// Returns the limit that MGE_ISA sets.
std::optional<Isa> requested_isa() {
    auto name = env_string("MGE_ISA");
    if (!name) return {};
    auto found = std::ranges::find(isa_names, *name);
    if (found == isa_names.end())
        throw_user("MGE_ISA", text("'", *name, "' is not one of ", list_isas([](Isa) { return true; })),
                   ErrorClass::value);
    Isa isa = Isa(found - isa_names.begin());
    if (!has_kernels(isa))
        throw_user("MGE_ISA",
                   text("this library was built without kernels for ", *name, "; it has those for ",
                        list_isas(has_kernels)),
                   ErrorClass::value);
    return isa;
}

Isa limited_isa() {
    Isa isa = std::min(best_isa(), requested_isa().value_or(Isa::amx));
    while (!has_kernels(isa)) isa = Isa(int(isa) - 1);
    return isa;
}

}  // namespace

Isa cpu_isa() {
    static const Isa isa = limited_isa();
    return isa;
}

std::string_view name_of(Isa isa) { return isa_names[size_t(isa)]; }

}  // namespace mge
