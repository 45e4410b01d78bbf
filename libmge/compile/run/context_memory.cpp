// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/context_memory.h"

#include <algorithm>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/files/pages.h"
#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/run/run_turn.h"
#include "libmge/device/copying.h"
#include "libmge/device/device.h"

namespace mge {

StorageRef ContextAllocator::alloc_static(DeviceId place, size_t bytes) {
    return queue_of(place).allocate(bytes);
}

StorageRef ContextAllocator::alloc_dynamic(DeviceId place, size_t bytes) {
    return queue_of(place).allocate(bytes);
}

ContextMemory::ContextMemory(std::shared_ptr<ContextAllocator> allocator)
    : allocator_(std::move(allocator)), user_(std::make_unique<RunTurn>()) {}

ContextMemory::~ContextMemory() = default;

void ContextMemory::enter() {
    if (!user_->try_take())
        throw_user("context",
                   "another context that has the same memory is running; contexts that share memory run one "
                   "after the other");
}

void ContextMemory::hand_over() { user_->hand_over(); }

void ContextMemory::leave() { user_->give_back(); }

ContextMemory::Arena& ContextMemory::arena(DeviceId place) {
    std::lock_guard lock(mutex_);
    for (auto& arena : arenas_)
        if (arena->place == place) return *arena;
    arenas_.push_back(std::make_unique<Arena>());
    arenas_.back()->place = place;
    return *arenas_.back();
}

void ContextMemory::make_ready(Arena& arena) {
    size_t version = allocator_ ? allocator_->static_alloc_version(arena.place) : 0;
    if (version == ContextAllocator::invalid_version)
        throw_user("context", "the allocator gave invalid_version as the version of its memory");
    bool is_ready = arena.storage && arena.held >= arena.wanted && arena.version == version;
    if (is_ready) return;
    std::lock_guard lock(mutex_);
    arena.storage = {};
    arena.held = 0;
    ++generation_;
    // Do not call the allocator for an empty arena.
    bool is_own = allocator_ && arena.wanted > 0;
    DeviceId peer = arena.place;
    if (arena.place.is_host())
        for (auto& other : arenas_)
            if (!other->place.is_host()) peer = other->place;
    StorageRef storage = is_own ? allocator_->alloc_static(arena.place, arena.wanted)
                                : allocate_for_copies(arena.place, peer, arena.wanted);
    bool fits = storage && storage->bytes >= arena.wanted &&
                reinterpret_cast<uintptr_t>(storage->data) % arena_alignment == 0;
    if (!fits)
        throw_user("context", text("the allocator did not provide ", arena.wanted, " bytes aligned to ",
                                   arena_alignment, " at ", physical_name(arena.place)));
    adopt(arena, std::move(storage), arena.wanted);
    arena.version = version;
}

void ContextMemory::adopt(Arena& arena, StorageRef storage, size_t bytes) {
    // Touch every page now, so that runs have no page faults.
    if (arena.place.is_host())
        for (size_t at = 0; at < bytes; at += page_size()) static_cast<std::byte*>(storage->data)[at] = {};
    else
        queue_of(arena.place).fill(storage->data, 0, bytes);
    arena.storage = std::move(storage);
    arena.held = bytes;
}

StorageRef ContextMemory::allocate_dynamic(DeviceId place, size_t bytes) {
    return allocator_ ? allocator_->alloc_dynamic(place, bytes) : queue_of(place).allocate(bytes);
}

size_t ContextMemory::bytes(DeviceId place) const {
    std::lock_guard lock(mutex_);
    auto it = std::ranges::find_if(arenas_, [&](auto& arena) { return arena->place == place; });
    return it == arenas_.end() ? 0 : (*it)->held;
}

size_t ContextMemory::bytes() const {
    std::lock_guard lock(mutex_);
    size_t sum = 0;
    for (auto& arena : arenas_) sum += arena->held;
    return sum;
}

size_t ContextMemory::clear() {
    enter();
    std::lock_guard lock(mutex_);
    for (auto& arena : arenas_) {
        arena->storage = {};
        arena->held = 0;
    }
    ++generation_;
    leave();
    return contexts_;
}

size_t ContextMemory::prealloc(DeviceId place, size_t bytes) {
    enter();
    try {
        auto& wanted = arena(place);
        wanted.wanted = std::max(wanted.wanted, align_up(bytes));
        make_ready(wanted);
    } catch (...) {
        leave();
        throw;
    }
    leave();
    return this->bytes(place);
}

}  // namespace mge
