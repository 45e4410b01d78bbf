// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run_turn.h"

#include "libmge/base/error.h"

namespace mge {
namespace {

uintptr_t mark_of_thread() {
    static thread_local char mark;
    return reinterpret_cast<uintptr_t>(&mark);
}

}  // namespace

void RunTurn::take() {
    uintptr_t holder = idle;
    while (!holder_.compare_exchange_strong(holder, mark_of_thread(), std::memory_order_acquire)) {
        if (holder == mark_of_thread())
            throw_user("context", "a run of it was asked for inside of one of its runs");
        holder_.wait(holder, std::memory_order_relaxed);
        holder = idle;
    }
}

void RunTurn::adopt() { holder_.store(mark_of_thread(), std::memory_order_relaxed); }

void RunTurn::give_back() {
    holder_.store(idle, std::memory_order_release);
    holder_.notify_all();
}

void RunTurn::wait() const {
    while (true) {
        uintptr_t holder = holder_.load(std::memory_order_acquire);
        if (holder == idle || holder == mark_of_thread()) return;
        holder_.wait(holder, std::memory_order_relaxed);
    }
}

}  // namespace mge
