// SPDX-License-Identifier: Apache-2.0
// The counters themselves: a counter that counts nothing would make every other test here pass.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "steady_state/call_counter.h"
#include "steady_state/child_tasks.h"
#include "steady_state/system_call_counter.h"

namespace mge::steady_state {
namespace {

TEST(CallCounter, CountsEveryKindOfAllocation) {
    start_counting();
    auto number = std::make_unique<int>(1);
    std::vector<int> numbers(100);
    void* block = std::malloc(8);
    block = std::realloc(block, 64);
    std::free(block);
    Counts counts = stop_counting();
    EXPECT_EQ(counts.allocations.mge, 4);
    EXPECT_EQ(counts.allocations.total(), 4);
}

TEST(CallCounter, CountsMutexesOfEveryThread) {
    std::mutex mutex;
    start_counting();
    { std::lock_guard guard(mutex); }
    std::thread([&] { std::lock_guard guard(mutex); }).join();
    EXPECT_GE(stop_counting().mutexes.mge, 2);
}

TEST(CallCounter, IsSilentWhenNothingHappens) {
    volatile double sum = 0;
    start_counting();
    for (int i = 0; i < 1000; ++i) sum = sum + i;
    Counts counts = stop_counting();
    EXPECT_EQ(counts.allocations.total(), 0);
    EXPECT_EQ(counts.mutexes.total(), 0);
}

TEST(SystemCallCounter, CountsBetweenTheMarks) {
    SystemCalls calls = count_system_calls({"--child", "three_calls"});
    if (calls.is_forbidden) GTEST_SKIP() << "this process may not trace another";
    ASSERT_EQ(calls.error, "");
    EXPECT_EQ(calls.count, 3);
    EXPECT_EQ(calls.waits, 0);
}

}  // namespace

int make_three_system_calls() {
    getppid();
    mark_system_calls();
    for (int i = 0; i < 3; ++i) getppid();
    mark_system_calls();
    getppid();
    return 0;
}

}  // namespace mge::steady_state
