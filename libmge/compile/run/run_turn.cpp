// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/run_turn.h"

#include "libmge/base/error.h"
#include "libmge/base/threads/per_process.h"

namespace mge {
namespace {

// A holder is a thread number (or 0). Its highest byte has a bit that marks a holder, and the number of forks
// of its process.
constexpr int generation_shift = 56;
constexpr uintptr_t is_held = uintptr_t(1) << 63, process_bits = uintptr_t(255) << generation_shift;

// Unique in this process and its children, unlike an address: a thread of a child may use memory at the
// address of a parent's thread.
uintptr_t mark_of_thread() {
    static std::atomic<uintptr_t> last{0};
    static constinit thread_local uintptr_t mark = 0;
    if (mark == 0) mark = ++last;
    return mark;
}

uintptr_t mark_of_process() { return is_held | uintptr_t(fork_generation()) << generation_shift; }

bool is_of_this_thread(uintptr_t owner) { return (owner & ~process_bits) == mark_of_thread(); }

}  // namespace

bool RunTurn::is_lost(uintptr_t owner) {
    return owner && !is_of_this_thread(owner) && (owner & process_bits) != mark_of_process();
}

bool RunTurn::try_take() {
    const uintptr_t mine = mark_of_thread() | mark_of_process();
    uintptr_t owner = 0;
    do {
        if (owner_.compare_exchange_strong(owner, mine, std::memory_order_acquire)) return true;
    } while (is_lost(owner));  // a lost holder is replaced
    return false;
}

void RunTurn::take() {
    while (!try_take()) {
        uintptr_t owner = owner_.load(std::memory_order_relaxed);
        if (is_of_this_thread(owner))
            throw_user("context", "a run of it was asked for inside of one of its runs");
        if (owner) owner_.wait(owner, std::memory_order_relaxed);
    }
}

void RunTurn::hand_over() { owner_.store(mark_of_process(), std::memory_order_relaxed); }

void RunTurn::adopt() { owner_.store(mark_of_thread() | mark_of_process(), std::memory_order_relaxed); }

void RunTurn::give_back() {
    owner_.store(0, std::memory_order_release);
    owner_.notify_all();
}

void RunTurn::wait() const {
    while (true) {
        uintptr_t owner = owner_.load(std::memory_order_acquire);
        if (!owner || is_of_this_thread(owner)) return;
        if (is_lost(owner))
            owner_.compare_exchange_strong(owner, 0, std::memory_order_relaxed);
        else
            owner_.wait(owner, std::memory_order_relaxed);
    }
}

}  // namespace mge
