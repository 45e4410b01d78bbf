// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {

// Divides [0, n) into one contiguous part per thread and calls fn(begin, end) for each, on this thread and
// its team; exceptions are rethrown when all are done. Fewer than two parts of `grain` elements run inline,
// because entering a parallel region costs about half a microsecond.
template <class Fn>
void par_for(int threads, int64_t n, int64_t grain, Fn&& fn) {
    if (n <= 0) return;
    // Either all threads of the context or one: growing a team recreates it.
    if (threads <= 1 || n < 2 * grain || (threads = team_size(threads)) == 1) return fn(int64_t(0), n);
    FirstFailure failure;
    run_shares(threads, [&](int share, int shares) {
        int64_t begin = n * share / shares, end = n * (share + 1) / shares;
        if (begin < end) failure.guard([&] { fn(begin, end); });
    });
    failure.rethrow();
}

// par_for with the index of the part: calls fn(part, begin, end), with parts numbered from 0 to threads - 1.
template <class Fn>
void in_parts(int threads, int64_t n, int64_t grain, Fn&& fn) {
    if (threads <= 1 || n < 2 * grain) return fn(0, int64_t(0), n);
    par_for(threads, threads, 1, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part)
            fn(int(part), n * part / threads, n * (part + 1) / threads);
    });
}

// Work per thread that is worth a parallel region, in elements of about one nanosecond each.
inline constexpr int64_t parallel_grain = 8192;

}  // namespace mge
