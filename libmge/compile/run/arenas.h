// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/compile/run/context_memory.h"
#include "libmge/tensor/tensor.h"

namespace mge {

class Program;

// An arena that is a part of another context's memory, aligned to 64.
struct BorrowedArena {
    size_t place = 0;
    void* data = nullptr;  // nullptr: no arena is lent
};

// The arenas of one context by place: its share of a ContextMemory, and the addresses that refer to them.
class Arenas {
public:
    // Allocates at once, so that a lack of memory shows here.
    Arenas(const Program& program, std::shared_ptr<ContextMemory> memory, BorrowedArena lent = {});
    ~Arenas();
    Arenas(const Arenas&) = delete;

    // Keeps `slot` pointing to byte `at` of an arena. Valid once a run has begun.
    void follow(void** slot, size_t place, size_t at);
    // Begins a run: the memory exists and is reserved for this context. Throws UserError if another context
    // is running on it.
    void enter() {
        memory_->enter();
        bool is_known = generation_ == memory_->generation_.load(std::memory_order_relaxed);
        if (!is_known || memory_->allocator_) [[unlikely]]
            bind_or_leave();
    }
    void hand_over() { memory_->hand_over(); }
    void leave() { memory_->leave(); }

    // Returns the tensor at an offset; null after clear().
    Tensor at(size_t place, size_t offset, const TensorSpec& spec, DeviceId device) const;
    StorageRef allocate_dynamic(size_t place, size_t bytes) const;
    // Lets runs allocate from the source of `others`; nullptr restores the own memory.
    void allocate_with(const Arenas* others) { dynamic_ = others ? others->dynamic_ : memory_.get(); }
    // Announces that values of so many bytes in total will be allocated next.
    void prepare_dynamic(size_t place, size_t bytes) const;
    DeviceId place(size_t place) const { return arenas_[place]->place; }
    size_t bytes(size_t place) const { return arenas_[place]->held; }
    // Sets the memory of the lent arena for later runs.
    void lend(void* data);
    bool is_lent(size_t place) const { return lent_.data && lent_.place == place; }
    // Changes when the arenas move.
    uint64_t generation() const { return generation_; }
    // True if no other context shares them.
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
    BorrowedArena lent_;
    std::vector<Follower> followers_;
    uint64_t generation_ = 0;
};

// Holds the arenas for a run.
class HeldArenas {
public:
    explicit HeldArenas(Arenas& arenas) : arenas_(&arenas) { arenas.enter(); }
    ~HeldArenas() {
        if (arenas_) arenas_->leave();
    }
    HeldArenas(const HeldArenas&) = delete;
    HeldArenas& operator=(const HeldArenas&) = delete;
    // Calls `start`, which starts a thread that will end the run. If it throws, this object keeps the arenas.
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
