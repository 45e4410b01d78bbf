// SPDX-License-Identifier: Apache-2.0
// After a few runs, a Program's own code makes no allocations, takes no locks and makes no system calls.
// Those inside oneDNN, and the number of times that threads of a team sleep, are counted separately and
// printed.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <iostream>

#include "steady_state/call_counter.h"
#include "steady_state/child_tasks.h"
#include "steady_state/programs.h"
#include "steady_state/system_call_counter.h"

namespace mge::steady_state {
namespace {

constexpr int counted_runs = 20;

void run_again(Context& context) {
    for (int i = 0; i < counted_runs; ++i) context.run();
}

Counts count_calls(Context& context) {
    start_counting();
    run_again(context);
    return stop_counting();
}

void print(const char* what, const CallCounts& counts) {
    std::cout << "    " << what << " per run: mge " << double(counts.mge) / counted_runs << ", oneDNN "
              << double(counts.onednn) / counted_runs << ", OpenMP " << double(counts.openmp) / counted_runs
              << ", other " << double(counts.other) / counted_runs << '\n';
}

// The least of some rounds of many runs: what the machine does meanwhile, moving pages or taking the
// processor away, is not theirs.
struct KernelEvents {
    long page_faults, voluntary_switches;
};

KernelEvents count_kernel_events(Context& context) {
    constexpr int rounds = 9;
    KernelEvents least{LONG_MAX, LONG_MAX};
    for (int i = 0; i < rounds; ++i) {
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        run_again(context);
        getrusage(RUSAGE_SELF, &after);
        long faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
        least.page_faults = std::min(least.page_faults, faults);
        least.voluntary_switches = std::min(least.voluntary_switches, after.ru_nvcsw - before.ru_nvcsw);
    }
    return least;
}

int run_between_marks(std::unique_ptr<Context> context) {
    mark_system_calls();
    run_again(*context);
    mark_system_calls();
    return 0;
}

std::string list(const SystemCalls& calls) {
    std::string text;
    for (auto& [number, count] : calls.by_number)
        text += "number " + std::to_string(number) + ": " + std::to_string(count) + " times; ";
    return text;
}

TEST(OwnKernels, AllocateAndLockNothing) {
    auto context = own_kernels();
    Counts counts = count_calls(*context);
    EXPECT_EQ(counts.allocations.total(), 0);
    EXPECT_EQ(counts.mutexes.total(), 0);
}

TEST(OwnKernels, CauseNoPageFaultAndNoSwitch) {
    auto context = own_kernels();
    KernelEvents events = count_kernel_events(*context);
    EXPECT_EQ(events.page_faults, 0);
    EXPECT_EQ(events.voluntary_switches, 0);
}

TEST(OwnKernels, MakeNoSystemCall) {
    SystemCalls calls = count_system_calls({"--child", "own_kernels"});
    if (calls.is_forbidden) GTEST_SKIP() << "this process may not trace another";
    ASSERT_EQ(calls.error, "");
    EXPECT_EQ(calls.count, 0) << list(calls);
    EXPECT_EQ(calls.waits, 0);
    EXPECT_EQ(calls.moves, 0);
}

TEST(NestedLoops, AllocateAndLockNothing) {
    auto context = nested_loops();
    Counts counts = count_calls(*context);
    EXPECT_EQ(counts.allocations.total(), 0);
    EXPECT_EQ(counts.mutexes.total(), 0);
}

TEST(ConvolutionNet, DoesNotAllocateOrLock) {
    auto context = convolution_net();
    Counts counts = count_calls(*context);
    print("allocations", counts.allocations);
    print("mutexes", counts.mutexes);
    EXPECT_EQ(counts.allocations.mge, 0);
    EXPECT_EQ(counts.mutexes.mge, 0);
    EXPECT_EQ(counts.allocations.other, 0);
    EXPECT_EQ(counts.mutexes.other, 0);
}

TEST(ConvolutionNet, CausesNoPageFault) {
    auto context = convolution_net();
    KernelEvents events = count_kernel_events(*context);
    EXPECT_EQ(events.page_faults, 0);
    // Threads that wait for each other may sleep when something else needs the processor: only shown.
    std::cout << "    voluntary switches in " << counted_runs << " runs: " << events.voluntary_switches
              << '\n';
}

TEST(ConvolutionNet, MakesNoSystemCallButWaits) {
    SystemCalls calls = count_system_calls({"--child", "convolution_net"});
    if (calls.is_forbidden) GTEST_SKIP() << "this process may not trace another";
    ASSERT_EQ(calls.error, "");
    std::cout << "    the team's system calls per run: " << double(calls.waits) / counted_runs << '\n';
    EXPECT_EQ(calls.count, 0) << list(calls);
}

// If a parallel region costs more than the work, two threads do the same as one.
TEST(SmallGradients, UseNoParallelRegion) {
    SystemCalls calls = count_system_calls({"--child", "small_gradients"});
    if (calls.is_forbidden) GTEST_SKIP() << "this process may not trace another";
    ASSERT_EQ(calls.error, "");
    EXPECT_EQ(calls.waits, 0);
    EXPECT_EQ(calls.moves, 0);
    EXPECT_EQ(calls.count, 0) << list(calls);
}

}  // namespace

int run_own_kernels() { return run_between_marks(own_kernels()); }
int run_small_gradients() { return run_between_marks(small_gradients()); }
int run_convolution_net() { return run_between_marks(convolution_net()); }

}  // namespace mge::steady_state
