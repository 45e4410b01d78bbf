// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops that end when the work is done, not when the slowest thread has done its share: a thread that loses
// its processor for a while, or has a slower one, leaves parts of its share to those that are ready.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "libmge/kernel/cpu/parallel.h"

namespace mge {

// Enough for a thread at half the speed to be helped, few enough for each part to be worth its beginning.
inline constexpr int64_t parts_of_thread = 4;
inline constexpr int most_balanced_threads = 64;

// As in_parts, but calls fn(thread, begin, end) several times, with parts of at least `grain`. On a quiet
// machine a thread gets the same parts as the last time, which are in its caches.
void in_balanced_parts(int threads, int64_t n, int64_t grain, const PartBody& fn);

// Sizes of the parts that a thread takes: at the start, and the minimum.
struct PartSizes {
    int64_t least, most;
};
// For n elements: one thread takes all at once, several start with parts that leave work for helpers.
inline PartSizes part_sizes(int threads, int64_t n, int64_t least) {
    return {least, threads <= 1 ? std::max(least, n) : std::max(least, n / (threads * parts_of_thread))};
}

// The part of a thread's share that has not been started: from `begin` to before `end`, in one word so that
// both change together. Its owner takes from the front, others from the back, each at most half of it: so
// parts get smaller towards the end, and all threads finish at the same time.
class alignas(64) ClaimedRange {
public:
    void set(int64_t begin, int64_t end) { word_.store(join(begin, end), std::memory_order_relaxed); }

    // Returns false if the range is empty.
    bool take(bool from_front, const PartSizes& sizes, int64_t& begin, int64_t& end) {
        uint64_t word = word_.load(std::memory_order_relaxed), left = 0;
        do {
            const int64_t first = int64_t(word >> 32), last = int64_t(uint32_t(word));
            if (first >= last) return false;
            const int64_t half = (last - first) / 2, most = std::min(sizes.most, last - first);
            const int64_t count = std::clamp(half, std::min(sizes.least, most), most);
            begin = from_front ? first : last - count;
            end = begin + count;
            left = from_front ? join(end, last) : join(first, begin);
        } while (!word_.compare_exchange_weak(word, left, std::memory_order_relaxed));
        return true;
    }

private:
    static uint64_t join(int64_t begin, int64_t end) { return uint64_t(begin) << 32 | uint64_t(end); }

    std::atomic<uint64_t> word_{0};
};

// Calls fn(begin, end) with parts of [0, n), n below 2^31. Each thread starts with its own share and then
// helps the others. A part is computed identically by any thread.
void in_claimed_parts(int threads, int64_t n, const PartSizes& sizes, const RangeBody& fn);

}  // namespace mge
