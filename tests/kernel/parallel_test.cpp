// SPDX-License-Identifier: Apache-2.0
// Failures inside the libraries that share our threads.

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge {
namespace {

TEST(ParFor, RethrowsExceptionsOfParts) {
    for (int64_t culprit : {0, 1})
        EXPECT_THROW(par_for(2, 2, 1,
                             [&](int64_t begin, int64_t) {
                                 if (begin == culprit) throw std::bad_alloc();
                             }),
                     std::bad_alloc);
    std::atomic<int64_t> sum{0};
    par_for(2, 10, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 10);
}

TEST(Onednn, OutOfMemoryIsNotAnInternalError) {
    EXPECT_THROW(onednn::check(dnnl_out_of_memory, "call"), MemoryError);
    EXPECT_THROW(onednn::check(dnnl_invalid_arguments, "call"), InternalError);
}

// By whoever takes its part.
TEST(Balanced, DoesEachThingOnce) {
    for (int threads : {1, 2, 3, 5})
        for (int64_t n : {0, 1, 2, 7, 40, 1000})
            for (int64_t grain : {1, 3, 50}) {
                std::vector<std::atomic<int>> times(static_cast<size_t>(n));
                std::atomic<bool> knows_threads{true};
                in_balanced_parts(threads, n, grain, [&](int thread, int64_t begin, int64_t end) {
                    if (thread < 0 || thread >= threads) knows_threads = false;
                    for (int64_t i = begin; i < end; ++i) ++times[size_t(i)];
                });
                EXPECT_TRUE(knows_threads) << threads << ' ' << n << ' ' << grain;
                for (auto& t : times) EXPECT_EQ(t, 1) << threads << ' ' << n << ' ' << grain;
            }
}

TEST(Balanced, RethrowsExceptionsOfParts) {
    EXPECT_THROW(in_balanced_parts(2, 16, 1, [](int, int64_t, int64_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
}

TEST(ClaimedParts, DoEachThingOnce) {
    for (int threads : {1, 2, 3, 5, 65})
        for (int64_t n : {0, 1, 2, 7, 48, 1000})
            for (PartSizes sizes : {PartSizes{1, 1}, {1, 8}, {3, 8}, {50, 50}}) {
                std::vector<std::atomic<int>> times(static_cast<size_t>(n));
                std::atomic<int64_t> largest{0};
                in_claimed_parts(threads, n, sizes, [&](int64_t begin, int64_t end) {
                    for (int64_t seen = largest; seen < end - begin;)
                        if (largest.compare_exchange_weak(seen, end - begin)) break;
                    for (int64_t i = begin; i < end; ++i) ++times[size_t(i)];
                });
                EXPECT_LE(largest, sizes.most) << threads << ' ' << n;
                for (auto& t : times) EXPECT_EQ(t, 1) << threads << ' ' << n << ' ' << sizes.most;
            }
}

TEST(ClaimedParts, GetSmallerTowardsTheEnd) {
    ClaimedRange range;
    range.set(10, 42);
    std::vector<int64_t> sizes;
    int64_t begin = 0, end = 0, next = 10;
    while (range.take(true, {1, 8}, begin, end)) {
        EXPECT_EQ(begin, next);
        next = end;
        sizes.push_back(end - begin);
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{8, 8, 8, 4, 2, 1, 1}));
    range.set(10, 42);
    ASSERT_TRUE(range.take(false, {1, 8}, begin, end));
    EXPECT_EQ(begin, 34);
    EXPECT_EQ(end, 42);
}

TEST(ClaimedParts, RethrowExceptionsOfParts) {
    EXPECT_THROW(in_claimed_parts(2, 16, {1, 4}, [](int64_t, int64_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
}

}  // namespace
}  // namespace mge
