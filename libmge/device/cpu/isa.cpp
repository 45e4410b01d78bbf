// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/device/cpu/isa_of_machine.h"

namespace mge {
namespace {

constexpr std::array<std::string_view, 11> isa_names{
    "neon",     "neon_dotprod", "neon_fp16",   "neon_i8mm_bf16", "sse4", "avx2",
    "avx_vnni", "avx512",       "avx512_vnni", "avx512_bf16",    "amx"};

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

bool is_of_architecture(Isa isa) {
    const IsaRange range = isas_of_machine();
    return isa >= range.lowest && isa <= range.highest;
}

std::string list_isas(bool (*is_listed)(Isa)) {
    std::string list;
    for (size_t i = 0; i < isa_names.size(); ++i)
        if (is_of_architecture(Isa(i)) && is_listed(Isa(i)))
            list += text(list.empty() ? "" : ", ", isa_names[i]);
    return list;
}

// Returns the limit that MGE_ISA sets.
std::optional<Isa> requested_isa() {
    auto name = env_string("MGE_ISA");
    if (!name) return {};
    auto found = std::ranges::find(isa_names, *name);
    if (found == isa_names.end() || !is_of_architecture(Isa(found - isa_names.begin())))
        throw_value_error("MGE_ISA", "'", *name, "' is not one of ", list_isas([](Isa) { return true; }));
    Isa isa = Isa(found - isa_names.begin());
    if (!has_kernels(isa))
        throw_value_error("MGE_ISA", "this library was built without kernels for ", *name,
                          "; it has those for ", list_isas(has_kernels));
    return isa;
}

Isa limited_isa() {
    const Isa best = isas_of_machine().best;
    Isa isa = std::min(best, requested_isa().value_or(best));
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
