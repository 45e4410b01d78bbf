// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/arenas.h"

#include <algorithm>
#include <utility>

#include "libmge/compile/program_parts.h"

namespace mge {

Arenas::Arenas(const Program& program, std::shared_ptr<ContextMemory> memory, BorrowedArena lent)
    : memory_(memory ? std::move(memory) : std::make_shared<ContextMemory>()), lent_(lent) {
    auto taken = program.parts().first_use->take_arenas();  // allocated during compilation, from the queues
    memory_->enter();
    try {
        for (size_t i = 0; i < program.places().size(); ++i) {
            auto& arena = memory_->arena(program.places()[i]);
            size_t bytes = align_up(program.parts().placement.arena_bytes[i]);
            bool is_new = !arena.storage && arena.wanted <= bytes && !memory_->allocator_;
            arena.wanted = std::max(arena.wanted, bytes);
            if (!taken.empty() && is_new) memory_->adopt(arena, std::move(taken[i]), bytes);
            arenas_.push_back(&arena);
        }
        if (lent.data) lend(lent.data);
        bind();
        std::lock_guard lock(memory_->mutex_);
        ++memory_->contexts_;
    } catch (...) {
        memory_->leave();
        throw;
    }
    memory_->leave();
}

void Arenas::bind_or_leave() {
    try {
        bind();
    } catch (...) {
        memory_->leave();
        throw;
    }
}

Arenas::~Arenas() {
    std::lock_guard lock(memory_->mutex_);
    --memory_->contexts_;
}

void Arenas::lend(void* data) {
    auto& arena = *arenas_.at(lent_.place);
    StorageRef storage = borrow_storage(data, arena.wanted, nullptr);
    std::lock_guard lock(memory_->mutex_);
    arena.storage = std::move(storage);
    arena.held = arena.wanted;
    ++memory_->generation_;
    lent_.data = data;
}

void Arenas::follow(void** slot, size_t place, size_t at) {
    followers_.push_back({slot, place, at});
    point(followers_.back());
}

void Arenas::point(const Follower& follower) const {
    *follower.slot = static_cast<char*>(arenas_[follower.place]->storage->data) + follower.at;
}

void Arenas::bind() {
    try {
        for (auto* arena : arenas_) memory_->make_ready(*arena);
    } catch (...) {
        generation_ = 0;
        throw;
    }
    uint64_t now = memory_->generation_;
    if (std::exchange(generation_, now) == now) return;
    for (auto& follower : followers_) point(follower);
}

Tensor Arenas::at(size_t place, size_t offset, const TensorSpec& spec, DeviceId device) const {
    auto& storage = arenas_[place]->storage;
    return storage ? Tensor(spec, storage, offset, device) : Tensor();
}

StorageRef Arenas::allocate_dynamic(size_t place, size_t bytes) const {
    return dynamic_->allocate_dynamic(arenas_[place]->place, bytes);
}

bool Arenas::are_alone() const {
    std::lock_guard lock(memory_->mutex_);
    return memory_->contexts_ == 1;
}

void Arenas::prepare_dynamic(size_t place, size_t bytes) const {
    if (dynamic_->allocator_) dynamic_->allocator_->defrag_prealloc_contig(arenas_[place]->place, bytes);
}

}  // namespace mge
