// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/balanced.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace mge {

void in_balanced_parts(int threads, int64_t n, int64_t grain, const PartBody& fn) {
    const int64_t each = threads <= 1 ? 1 : std::min(parts_of_thread, n / (grain * threads));
    if (each <= 1 || threads > most_balanced_threads) return in_parts(threads, n, grain, fn);
    const int64_t parts = each * threads;
    std::array<std::atomic<int64_t>, most_balanced_threads> taken{};  // taken parts of each thread's own
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

void in_claimed_parts(int threads, int64_t n, const PartSizes& sizes, const RangeBody& fn) {
    if (threads <= 1 || n < 2 * sizes.least || threads > most_balanced_threads) {
        return par_for(threads, n, sizes.least, [&](int64_t begin, int64_t end) {
            for (; begin < end; begin += sizes.most) fn(begin, std::min(begin + sizes.most, end));
        });
    }
    std::array<ClaimedRange, most_balanced_threads> ranges;
    for (int i = 0; i < threads; ++i) ranges[size_t(i)].set(n * i / threads, n * (i + 1) / threads);
    in_parts(threads, threads, 1, [&](int thread, int64_t, int64_t) {
        for (int i = 0; i < threads; ++i) {
            int64_t begin = 0, end = 0;
            while (ranges[size_t((thread + i) % threads)].take(i == 0, sizes, begin, end)) fn(begin, end);
        }
    });
}

}  // namespace mge
