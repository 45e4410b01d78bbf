// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stacks that one thread goes on with in turn.

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <span>

namespace mge::cuda::emulated {

// Execution on one stack, and where it stopped.
class Execution {
public:
    Execution() = default;  // the thread's own
    Execution(std::span<char> stack, void (*entry)()) : is_new_(true) {
        getcontext(&start_);
        start_.uc_stack.ss_sp = stack.data();
        start_.uc_stack.ss_size = stack.size();
        makecontext(&start_, entry, 0);
    }
    Execution(const Execution&) = delete;

    friend void switch_between(Execution& from, Execution& to);

private:
    ucontext_t start_{};
    jmp_buf place_{};
    bool is_new_ = false;
};

// Sanitizers follow swapcontext(). Without them a switch is no system call, which swapcontext() makes for the
// mask of signals: with these a kernel of many exchanges took five times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline void switch_between(Execution& from, Execution& to) { swapcontext(&from.start_, &to.start_); }
#else
[[gnu::noinline]] inline void switch_between(Execution& from, Execution& to) {
    if (_setjmp(from.place_) != 0) return;
    if (!to.is_new_) _longjmp(to.place_, 1);
    to.is_new_ = false;
    setcontext(&to.start_);
}
#endif

}  // namespace mge::cuda::emulated
