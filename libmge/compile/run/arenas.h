// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/compile/run/context_memory.h"
#include "libmge/tensor/tensor.h"

namespace mge {

class Program;

// An arena that is a part of somebody else's memory, aligned to 64.
struct LentArena {
    size_t place = 0;
    void* data = nullptr;  // null: there is none
};

// The arenas of one context, by place: its share of a ContextMemory, and who has addresses in them.
class Arenas {
public:
    // Takes the memory at once, so that a lack of it shows.
    Arenas(const Program& program, std::shared_ptr<ContextMemory> memory, LentArena lent = {});
    ~Arenas();
    Arenas(const Arenas&) = delete;

    // `slot` holds the address of a byte of an arena from here on, whenever a run has begun.
    void follow(void** slot, size_t place, size_t at);
    // A run begins: the memory is there, and nobody else's. UserError when another context runs on it.
    void enter() {
        memory_->enter();
        bool is_known = generation_ == memory_->generation_.load(std::memory_order_relaxed);
        if (!is_known || memory_->allocator_) [[unlikely]]
            bind_or_leave();
    }
    void hand_over() { memory_->hand_over(); }
    void leave() { memory_->leave(); }

    // Absent after clear().
    Tensor at(size_t place, size_t offset, const TensorSpec& spec, DeviceId device) const;
    StorageRef allocate_dynamic(size_t place, size_t bytes) const;
    // Takes what runs allocate from where these have it from; null: from its own memory.
    void allocate_with(const Arenas* others) { dynamic_ = others ? others->dynamic_ : memory_.get(); }
    // Values of so many bytes in all are about to be allocated, one after the other.
    void prepare_dynamic(size_t place, size_t bytes) const;
    DeviceId place(size_t place) const { return arenas_[place]->place; }
    size_t bytes(size_t place) const { return arenas_[place]->held; }
    // The arena that was lent lies here in the next runs.
    void lend(void* data);
    bool is_lent(size_t place) const { return lent_.data && lent_.place == place; }
    // Another one when they lie elsewhere than before.
    uint64_t generation() const { return generation_; }
    // No other context has them.
    bool are_alone() const;
    const std::shared_ptr<ContextMemory>& memory() const { return memory_; }

private:
    struct Follower {
        void** slot;
        size_t place, at;
    };
    void bind();
    void bind_or_leave();
    void point(const Follower& follower) const;

    std::shared_ptr<ContextMemory> memory_;
    ContextMemory* dynamic_ = memory_.get();
    std::vector<ContextMemory::Arena*> arenas_;  // by place
    LentArena lent_;
    std::vector<Follower> followers_;
    uint64_t generation_ = 0;
};

// A run on them.
class HeldArenas {
public:
    explicit HeldArenas(Arenas& arenas) : arenas_(&arenas) { arenas.enter(); }
    ~HeldArenas() {
        if (arenas_) arenas_->leave();
    }
    HeldArenas(const HeldArenas&) = delete;
    HeldArenas& operator=(const HeldArenas&) = delete;
    // `start` starts a thread that ends the run; if it throws, nothing is handed over.
    template <class Start>
    void hand_over(Start&& start) {
        arenas_->hand_over();
        start();
        arenas_ = nullptr;
    }

private:
    Arenas* arenas_;
};

}  // namespace mge
