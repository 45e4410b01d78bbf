// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of work of very different sizes, such as the weights of a model that are read to be verified.

#include <atomic>
#include <cstddef>

#include "libmge/base/threads/thread_team.h"

namespace mge {

// Of so many bytes: one thread alone is slower than memory.
constexpr bool is_worth_reading_together(size_t bytes) { return bytes >= size_t(16) << 20; }

// Calls fn(i) for each i below n; each of the threads takes the next one when it is ready. fn throws nothing.
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
