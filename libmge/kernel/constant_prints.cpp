// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/constant_prints.h"

#include <map>
#include <mutex>
#include <utility>

#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

// Smaller constants are read in no time.
constexpr size_t least_bytes = size_t(1) << 14;

struct KnownConstant {
    size_t owners = 0;
    std::map<size_t, Fingerprint> prints;  // by the number of bytes
};

struct Table {
    std::mutex mutex;
    std::map<const void*, KnownConstant> constants;  // by address
};

Table& table() {
    // Never destroyed, because objects of static life may be destroyed later.
    static auto& tables =
        *std::make_unique<PerProcess<Table>>([](Table*) { return std::make_unique<Table>(); }).release();
    return tables.get();
}

}  // namespace

ConstantPrints::ConstantPrints(Tensors constants) : constants_(std::move(constants)) {
    std::erase_if(constants_, [](auto& constant) {
        return !constant || !constant.device().is_host() || constant.spec().bytes() < least_bytes;
    });
    if (constants_.empty()) return;
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto& constant : constants_) ++known.constants[constant.address()].owners;
}

ConstantPrints::~ConstantPrints() {
    if (constants_.empty()) return;
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto& constant : constants_) {
        auto found = known.constants.find(constant.address());
        if (found != known.constants.end() && --found->second.owners == 0) known.constants.erase(found);
    }
}

std::optional<Fingerprint> ConstantPrints::find(const void* constant, size_t bytes) {
    Table& known = table();
    std::lock_guard lock(known.mutex);
    auto found = known.constants.find(constant);
    if (found == known.constants.end()) return std::nullopt;
    auto print = found->second.prints.find(bytes);
    return print == found->second.prints.end() ? std::nullopt : std::optional(print->second);
}

void ConstantPrints::note(const void* constant, size_t bytes, const Fingerprint& print) {
    Table& known = table();
    std::lock_guard lock(known.mutex);
    auto found = known.constants.find(constant);
    if (found != known.constants.end()) found->second.prints[bytes] = print;
}

}  // namespace mge
