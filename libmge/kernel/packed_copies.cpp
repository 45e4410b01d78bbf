// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/packed_copies.h"

#include <map>
#include <mutex>
#include <utility>

#include "libmge/base/threads/at_fork.h"
#include "libmge/base/threads/each_claimed.h"
#include "libmge/base/threads/first_failure.h"

namespace mge {
namespace {

struct Offer {
    std::weak_ptr<const void> owner;
    PackedCopy copy;
    std::shared_ptr<const VerifyConstant> verify;  // null: the constant is intact
};

struct Table {
    std::mutex mutex;
    std::multimap<const void*, Offer> offers;  // by constant
};

Table& table() {
    static Table& known = *std::make_unique<Table>().release();
    return known;
}
const HeldAcrossFork copies_at_fork([]() -> auto& { return table().mutex; });

struct Unverified {
    std::shared_ptr<const void> owner;  // null: no owner
    std::shared_ptr<const VerifyConstant> verify;
};
Unverified find_unverified(const void* constant) {
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto [it, end] = known.offers.equal_range(constant); it != end; ++it)
        if (auto living = it->second.verify ? it->second.owner.lock() : nullptr)
            return {std::move(living), it->second.verify};
    return {};
}

}  // namespace

void offer_packed_copies(const std::shared_ptr<const void>& owner, std::vector<PackedCopy> copies,
                         const std::shared_ptr<const VerifyConstant>& verify) {
    if (!owner) return;  // their lifetime is unknown
    Table& known = table();
    std::lock_guard lock(known.mutex);
    std::erase_if(known.offers, [](auto& offer) { return offer.second.owner.expired(); });
    for (auto& copy : copies) {
        auto* constant = copy.constant;
        known.offers.emplace(constant, Offer{owner, std::move(copy), verify});
    }
}

StorageRef find_packed_copy(const void* constant, const PackedCopyFilter& is_wanted) {
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto [it, end] = known.offers.equal_range(constant); it != end; ++it) {
        auto& [owner, copy, verify] = it->second;
        if (!is_wanted(copy.layouts, copy.bytes)) continue;
        // The address of a freed constant may be reused.
        if (auto living = owner.lock()) return borrow_storage(copy.data, copy.bytes, std::move(living));
    }
    return {};
}

std::vector<const void*> packed_copies_of(const void* constant) {
    std::vector<const void*> copies;
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto [it, end] = known.offers.equal_range(constant); it != end; ++it)
        if (!it->second.owner.expired()) copies.push_back(it->second.copy.data);
    return copies;
}

void verify_constant(const void* constant) {
    for (auto found = find_unverified(constant); found.owner; found = find_unverified(constant)) {
        (*found.verify)(constant);  // without the lock: it may take long
        Table& known = table();
        std::lock_guard lock(known.mutex);
        for (auto [it, end] = known.offers.equal_range(constant); it != end; ++it)
            if (it->second.verify == found.verify) it->second.verify = nullptr;
    }
}

void verify_constants(std::span<const std::span<const std::byte>> constants, int threads) {
    std::vector<const void*> unverified;
    size_t bytes = 0;
    for (auto constant : constants) {
        if (!find_unverified(constant.data()).owner) continue;
        unverified.push_back(constant.data());
        bytes += constant.size();
    }
    std::vector<FirstFailure> failures(unverified.size());
    for_each_claimed(is_worth_reading_together(bytes) ? threads : 1, unverified.size(),
                     [&](size_t i) { failures[i].guard([&] { verify_constant(unverified[i]); }); });
    for (auto& failure : failures) failure.rethrow();
}

void PackedCopyNotes::add(std::weak_ptr<const void> user, PackedCopy copy) {
    notes_.push_back({std::move(user), std::move(copy)});
}

std::vector<PackedCopy> PackedCopyNotes::living() const {
    std::vector<PackedCopy> result;
    for (auto& note : notes_)
        if (!note.user.expired()) result.push_back(note.copy);
    return result;
}

}  // namespace mge
