// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/constant_prints.h"

#include <map>
#include <mutex>
#include <utility>

#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

// Reading smaller constants costs less than a look-up.
constexpr size_t least_printed_bytes = size_t(1) << 14;

struct KnownConstant {
    size_t owners = 0;
    std::map<size_t, Fingerprint> prints;  // by the number of bytes
};

struct PrintTable {
    std::mutex mutex;
    std::map<const void*, KnownConstant> constants;  // by address
};

// Objects of static life may be destroyed later.
PrintTable& print_table() { return lasting_per_process<PrintTable>(); }

}  // namespace

ConstantPrints::ConstantPrints(Tensors constants) : constants_(std::move(constants)) {
    std::erase_if(constants_, [](auto& constant) {
        return !constant || !constant.device().is_host() || constant.spec().bytes() < least_printed_bytes;
    });
    if (constants_.empty()) return;
    PrintTable& known = print_table();
    std::lock_guard lock(known.mutex);
    for (auto& constant : constants_) ++known.constants[constant.address()].owners;
}

ConstantPrints::~ConstantPrints() {
    if (constants_.empty()) return;
    PrintTable& known = print_table();
    std::lock_guard lock(known.mutex);
    for (auto& constant : constants_) {
        auto found = known.constants.find(constant.address());
        if (found != known.constants.end() && --found->second.owners == 0) known.constants.erase(found);
    }
}

std::optional<Fingerprint> ConstantPrints::find(const void* constant, size_t bytes) {
    PrintTable& known = print_table();
    std::lock_guard lock(known.mutex);
    auto found = known.constants.find(constant);
    if (found == known.constants.end()) return std::nullopt;
    auto print = found->second.prints.find(bytes);
    return print == found->second.prints.end() ? std::nullopt : std::optional(print->second);
}

void ConstantPrints::note(const void* constant, size_t bytes, const Fingerprint& print) {
    PrintTable& known = print_table();
    std::lock_guard lock(known.mutex);
    auto found = known.constants.find(constant);
    if (found != known.constants.end()) found->second.prints[bytes] = print;
}

}  // namespace mge
