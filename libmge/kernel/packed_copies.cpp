// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/packed_copies.h"

#include <map>
#include <mutex>
#include <utility>

#include "libmge/base/per_process.h"

namespace mge {
namespace {

struct Offer {
    std::weak_ptr<const void> owner;
    PackedCopy copy;
};

struct Table {
    std::mutex mutex;
    std::multimap<const void*, Offer> offers;  // by constant
};

Table& table() {
    static PerProcess<Table> tables([](Table*) { return std::make_unique<Table>(); });
    return tables.get();
}

constinit thread_local PackedCopyNotes* notes_of_thread = nullptr;

}  // namespace

void offer_packed_copies(const std::shared_ptr<const void>& owner, std::vector<PackedCopy> copies) {
    if (!owner) return;  // nobody knows how long they are there
    Table& known = table();
    std::lock_guard lock(known.mutex);
    std::erase_if(known.offers, [](auto& offer) { return offer.second.owner.expired(); });
    for (auto& copy : copies) {
        auto* constant = copy.constant;
        known.offers.emplace(constant, Offer{owner, std::move(copy)});
    }
}

StorageRef find_packed_copy(const void* constant, const IsWantedCopy& is_wanted) {
    Table& known = table();
    std::lock_guard lock(known.mutex);
    for (auto [it, end] = known.offers.equal_range(constant); it != end; ++it) {
        auto& [owner, copy] = it->second;
        // Other memory may lie at the address of a constant that is gone.
        if (auto living = owner.lock(); living && is_wanted(copy.layouts, copy.bytes))
            return borrow_storage(copy.data, copy.bytes, std::move(living));
    }
    return {};
}

PackedCopyNotes::PackedCopyNotes() : outer_(std::exchange(notes_of_thread, this)) {}
PackedCopyNotes::~PackedCopyNotes() { notes_of_thread = outer_; }
PackedCopyNotes* PackedCopyNotes::of_this_thread() { return notes_of_thread; }

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
