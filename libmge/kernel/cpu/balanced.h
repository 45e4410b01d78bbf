// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that end when the work is done, not when the slowest thread has done its share: a thread that loses
// its processor for a while, or has a slower one, leaves parts of its share to those that are ready.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "libmge/kernel/cpu/parallel.h"

namespace mge {

// Enough for a thread at half the speed to be helped, few enough for each part to be worth its beginning.
inline constexpr int64_t parts_of_thread = 4;
inline constexpr int most_balanced_threads = 64;

// As in_parts, but calls fn(thread, begin, end) several times, with parts of at least `grain`. On a quiet
// machine a thread gets those it had the last time, which its caches know.
template <class Fn>
void in_balanced_parts(int threads, int64_t n, int64_t grain, Fn&& fn) {
    const int64_t each = threads <= 1 ? 1 : std::min(parts_of_thread, n / (grain * threads));
    if (each <= 1 || threads > most_balanced_threads) return in_parts(threads, n, grain, fn);
    const int64_t parts = each * threads;
    std::array<std::atomic<int64_t>, most_balanced_threads> taken{};  // of each thread's own parts
    in_parts(threads, threads, 1, [&](int thread, int64_t, int64_t) {
        for (int i = 0; i < threads; ++i) {
            const int owner = (thread + i) % threads;
            const int64_t first = each * owner, end = first + each;
            auto take = [&] { return first + taken[size_t(owner)].fetch_add(1, std::memory_order_relaxed); };
            for (int64_t part = take(); part < end; part = take())
                fn(thread, n * part / parts, n * (part + 1) / parts);
        }
    });
}

}  // namespace mge
