// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace mge {

// Serialises the runs of a context over all threads. Without contention it is one atomic exchange. In a child
// of fork(), runs of other threads than the forking one are over, because these threads do not exist there.
class RunTurn {
public:
    // Waits for the current run. Throws UserError if the calling thread is inside of that run.
    void take();
    // Takes the turn unless a run is in progress. Returns whether it did.
    bool try_take();
    // Passes the turn to another thread, which calls adopt().
    void hand_over();
    void adopt();
    void give_back();
    // Waits until no run is in progress. Returns at once inside of the calling thread's own run.
    void wait() const;
    // True if the current run began before a fork(), on a thread that this process does not have.
    bool is_lost() const { return is_lost(owner_.load(std::memory_order_acquire)); }

private:
    static bool is_lost(uintptr_t owner);

    // 0: no run. Else a mark of the thread (none until adopted) and of the process.
    mutable std::atomic<uintptr_t> owner_{0};
};

// Holds the turn for a scope, unless it is handed over.
class HeldTurn {
public:
    explicit HeldTurn(RunTurn& turn) : turn_(&turn) { turn.take(); }
    ~HeldTurn() {
        if (turn_) turn_->give_back();
    }
    HeldTurn(const HeldTurn&) = delete;
    HeldTurn& operator=(const HeldTurn&) = delete;
    // Calls `start`, which makes another thread give the turn back. If it throws, this object keeps the turn.
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
