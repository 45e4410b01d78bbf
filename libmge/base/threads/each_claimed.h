// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks of very different sizes, such as the weights of a model that are read for verification.

#include <atomic>
#include <cstddef>

#include "libmge/base/threads/thread_team.h"

namespace mge {

// For so many bytes, a single thread is slower than memory.
constexpr bool is_worth_reading_together(size_t bytes) { return bytes >= size_t(16) << 20; }

// Calls fn(i) for each i below n; each thread takes the next index when it is ready. fn must not throw.
template <class Fn>
void for_each_claimed(int threads, size_t n, Fn&& fn) {
    std::atomic<size_t> next = 0;
    auto work = [&](int, int) {
        for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) fn(i);
    };
    if (threads > 1 && n > 1) threads = team_size(threads);
    threads > 1 && n > 1 ? run_shares(threads, work) : work(0, 1);
}

}  // namespace mge
