// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waiting for another thread: first awake, which is answered within a hundred nanoseconds, then asleep.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#ifdef __x86_64__
#include <immintrin.h>
#include <x86intrin.h>
#endif

namespace mge {

using Ticks = int64_t;

// The processor's counter of time: two orders of magnitude cheaper to read than a parallel region is to
// enter. It is steady on every processor with AVX and on all of 64-bit Arm, where a tick may take 50 ns.
inline Ticks ticks_now() {
#ifdef __x86_64__
    return Ticks(__rdtsc());
#else
    Ticks ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

// Leaves the execution units to the sibling of this thread for some ten nanoseconds.
inline void pause_briefly() {
#ifdef __x86_64__
    _mm_pause();
#else
    asm volatile("isb");  // "yield" does nothing on most processors
#endif
}

// Counter ticks per microsecond. Measured once, in some 50 microseconds.
Ticks ticks_per_microsecond();

// A thread that waits awake reads the counter every few nanoseconds, so a gap means that it did not run.
struct SpinResult {
    bool is_ready = false, lost_cpu = false;
};

template <class Ready>
SpinResult spin_until(Ready&& is_ready, Ticks limit, Ticks gap) {
    Ticks begin = ticks_now(), last = begin;
    SpinResult result;
    while (!(result.is_ready = is_ready())) {
        Ticks now = ticks_now();
        if (now - last > gap) result.lost_cpu = true;
        last = now;
        if (now - begin > limit) break;
        pause_briefly();
    }
    return result;
}

// Sleeps while the word is `seen`; may wake spuriously.
inline void sleep_while(std::atomic<uint32_t>& word, uint32_t seen) {
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
inline void wake(std::atomic<uint32_t>& word, int threads) {
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr,
              0);
}

}  // namespace mge
