// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "libmge/base/first_failure.h"
#include "libmge/base/threads.h"

namespace mge {

// Splits [0, n) into one contiguous part per thread and calls fn(begin, end) for each, on this thread and its
// team; what one of them throws is thrown when all are done. Fewer than two parts of `grain` elements run
// inline: entering a parallel region costs about half a microsecond.
template <class Fn>
void par_for(int threads, int64_t n, int64_t grain, Fn&& fn) {
    if (n <= 0) return;
    // Either all threads of the context or none: a team that changes its size is destroyed and made again.
    if (threads <= 1 || n < 2 * grain || (threads = team_size(threads)) == 1) return fn(int64_t(0), n);
    FirstFailure failure;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part) {
        int64_t begin = n * part / threads, end = n * (part + 1) / threads;
        if (begin < end) failure.guard([&] { fn(begin, end); });
    }
    failure.rethrow();
}

// Work per thread that is worth a parallel region, in elements of about one nanosecond each.
inline constexpr int64_t parallel_grain = 8192;

}  // namespace mge
