// SPDX-License-Identifier: Apache-2.0
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <ios>
#include <set>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/device/cpu/isa_of_machine.h"

namespace mge {
namespace {

Isa best_isa() {
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    if (!(first & HWCAP_ASIMDDP)) return Isa::neon;
    if (!(first & HWCAP_ASIMDHP) || !(first & HWCAP_FPHP)) return Isa::neon_dotprod;
    const bool multiplies_matrices = (second & HWCAP2_I8MM) && (second & HWCAP2_BF16);
    return multiplies_matrices ? Isa::neon_i8mm_bf16 : Isa::neon_fp16;
}

struct Core {
    uint64_t implementer, part;
    std::string_view name;
};
constexpr uint64_t arm = 0x41, apple = 0x61, ampere = 0xc0;
constexpr std::array cores{
    Core{arm, 0xd03, "Cortex-A53"},   Core{arm, 0xd04, "Cortex-A35"},   Core{arm, 0xd05, "Cortex-A55"},
    Core{arm, 0xd07, "Cortex-A57"},   Core{arm, 0xd08, "Cortex-A72"},   Core{arm, 0xd09, "Cortex-A73"},
    Core{arm, 0xd0a, "Cortex-A75"},   Core{arm, 0xd0b, "Cortex-A76"},   Core{arm, 0xd0c, "Neoverse-N1"},
    Core{arm, 0xd0d, "Cortex-A77"},   Core{arm, 0xd40, "Neoverse-V1"},  Core{arm, 0xd41, "Cortex-A78"},
    Core{arm, 0xd44, "Cortex-X1"},    Core{arm, 0xd46, "Cortex-A510"},  Core{arm, 0xd47, "Cortex-A710"},
    Core{arm, 0xd48, "Cortex-X2"},    Core{arm, 0xd49, "Neoverse-N2"},  Core{arm, 0xd4d, "Cortex-A715"},
    Core{arm, 0xd4e, "Cortex-X3"},    Core{arm, 0xd4f, "Neoverse-V2"},  Core{arm, 0xd80, "Cortex-A520"},
    Core{arm, 0xd81, "Cortex-A720"},  Core{arm, 0xd82, "Cortex-X4"},    Core{ampere, 0xac3, "Ampere-1"},
    Core{ampere, 0xac4, "Ampere-1a"}, Core{apple, 0x022, "Apple M1 E"}, Core{apple, 0x023, "Apple M1 P"},
};

// The main ID register of each kind of core.
std::set<uint64_t> identifications() {
    std::set<uint64_t> found;
    std::error_code error;
    for (auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu", error)) {
        std::ifstream file(entry.path() / "regs/identification/midr_el1");
        uint64_t id = 0;
        if (file >> std::hex >> id) found.insert(id);
    }
    if (found.empty() && (getauxval(AT_HWCAP) & HWCAP_CPUID)) {
        uint64_t id = 0;
        asm("mrs %0, midr_el1" : "=r"(id));
        found.insert(id);
    }
    return found;
}

std::string name_of_core(uint64_t id) {
    const uint64_t implementer = id >> 24 & 0xff, part = id >> 4 & 0xfff;
    auto* core =
        std::ranges::find_if(cores, [&](auto& c) { return c.implementer == implementer && c.part == part; });
    if (core != cores.end()) return std::string(core->name);
    return text("implementer ", implementer, " part ", part);
}

}  // namespace

IsaRange isas_of_machine() {
    static const Isa best = best_isa();
    return {Isa::neon, best, Isa::neon_i8mm_bf16};
}

std::string model_of_machine() {
    std::set<std::string> names;
    for (uint64_t id : identifications()) names.insert(name_of_core(id));
    std::string model;
    for (auto& name : names) model += (model.empty() ? "" : " + ") + name;
    return model.empty() ? "unknown CPU" : model;
}

}  // namespace mge
