// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace mge {

// One run of a context at a time, whichever threads ask for it: the next one waits. As long as nobody has to
// wait it is one atomic exchange. In a child made by fork() the runs of other threads than the one that
// forked are over: these threads do not exist there.
class RunTurn {
public:
    // Waits for the run under way. UserError when that is one of the calling thread, around this call.
    void take();
    // Takes the turn unless a run is under way. Returns whether it did.
    bool try_take();
    // Whoever has taken it leaves it to another thread, which adopts it.
    void hand_over();
    void adopt();
    void give_back();
    // Until no run is under way; at once inside of the calling thread's own.
    void wait() const;
    // A run is under way that began before a fork(), on a thread that this process does not have.
    bool is_lost() const { return is_lost(holder_.load(std::memory_order_acquire)); }

private:
    static bool is_lost(uintptr_t holder);

    // 0: no run is under way. Else a mark of the thread, or none before one adopts it, and of the process.
    mutable std::atomic<uintptr_t> holder_{0};
};

// For a scope, unless it is handed over in it.
class HeldTurn {
public:
    explicit HeldTurn(RunTurn& turn) : turn_(&turn) { turn.take(); }
    ~HeldTurn() {
        if (turn_) turn_->give_back();
    }
    HeldTurn(const HeldTurn&) = delete;
    HeldTurn& operator=(const HeldTurn&) = delete;
    // `start` sees to it that another thread gives it back; if it throws, nothing is handed over.
    template <class Start>
    void hand_over(Start&& start) {
        turn_->hand_over();
        start();
        turn_ = nullptr;
    }

private:
    RunTurn* turn_;
};

}  // namespace mge
