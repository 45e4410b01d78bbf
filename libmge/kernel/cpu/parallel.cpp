// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/parallel.h"

#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {

void par_for(int threads, int64_t n, int64_t grain, const RangeBody& fn) {
    if (n <= 0) return;
    // Either all threads of the context or one: growing a team recreates it.
    if (threads <= 1 || n < 2 * grain || (threads = team_size(threads)) == 1) return fn(0, n);
    FirstFailure failure;
    run_shares(threads, [&](int share, int shares) {
        int64_t begin = n * share / shares, end = n * (share + 1) / shares;
        if (begin < end) failure.guard([&] { fn(begin, end); });
    });
    failure.rethrow();
}

void in_parts(int threads, int64_t n, int64_t grain, const PartBody& fn) {
    if (threads <= 1 || n < 2 * grain) return fn(0, 0, n);
    par_for(threads, threads, 1, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part)
            fn(int(part), n * part / threads, n * (part + 1) / threads);
    });
}

}  // namespace mge
