// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "libmge/base/first_failure.h"
#include "libmge/base/thread_team.h"

namespace mge {

// Splits [0, n) into one contiguous part per thread and calls fn(begin, end) for each, on this thread and its
// team; what one of them throws is thrown when all are done. Fewer than two parts of `grain` elements run
// inline: entering a parallel region costs about half a microsecond.
template <class Fn>
void par_for(int threads, int64_t n, int64_t grain, Fn&& fn) {
    if (n <= 0) return;
    // Either all threads of the context or none: a team that grows is made anew.
    if (threads <= 1 || n < 2 * grain || (threads = team_size(threads)) == 1) return fn(int64_t(0), n);
    FirstFailure failure;
    run_shares(threads, [&](int share, int shares) {
        int64_t begin = n * share / shares, end = n * (share + 1) / shares;
        if (begin < end) failure.guard([&] { fn(begin, end); });
    });
    failure.rethrow();
}

// Work per thread that is worth a parallel region, in elements of about one nanosecond each.
inline constexpr int64_t parallel_grain = 8192;

}  // namespace mge
