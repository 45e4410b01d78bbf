// SPDX-License-Identifier: Apache-2.0
// Teams of threads: every share once, whoever takes it.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "libmge/base/threads/openmp_imports.h"
#include "libmge/base/threads/own_team.h"
#include "libmge/base/threads/run_delay.h"
#include "libmge/base/threads/start_thread.h"
#include "libmge/base/threads/system_tick.h"
#include "libmge/base/threads/thread_team.h"
#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/kernel/cpu/product/row_times_weight.h"
#include "tests/live_threads.h"

namespace mge {
namespace {

using Work = std::function<void(int, int)>;

// For what comes at once, but on a busy machine.
constexpr std::chrono::seconds longest_wait(300);

void run(OwnTeam& team, int shares, Work work) {
    team.run(
        shares, [](void* w, int share, int all) { (*static_cast<Work*>(w))(share, all); }, &work);
}

// Each share adds what only it may: any share left out, or done twice, shows.
bool does_each_share_once(OwnTeam& team, int shares) {
    std::vector<int> done(size_t(shares), 0);
    run(team, shares, [&](int share, int all) { done[size_t(share)] += all; });
    return done == std::vector<int>(size_t(shares), shares);
}

class OfWidth : public testing::TestWithParam<int> {};

TEST_P(OfWidth, RunsEachShareOnce) {
    OwnTeam team(4);
    team.keep_width(GetParam());
    for (int round = 0; round < 5000; ++round)
        for (int shares : {4, 2, 3, 4}) ASSERT_TRUE(does_each_share_once(team, shares)) << "round " << round;
}

// A share that waits for the others needs a thread, even one that is aside.
TEST_P(OfWidth, SharesMeet) {
    OwnTeam team(4);
    team.keep_width(GetParam());
    for (int round = 0; round < 200; ++round) {
        std::vector<int> values(4, 0);
        std::atomic<int> wrong{0};
        std::set<std::thread::id> threads;
        std::mutex mutex;
        run(team, 4, [&](int share, int) {
            for (int step = 1; step <= 3; ++step) {
                values[size_t(share)] = step;
                meet_other_shares();
                for (int value : values) wrong += value != step;
                meet_other_shares();
            }
            std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
        });
        ASSERT_EQ(wrong, 0);
        ASSERT_EQ(threads.size(), 4u);
    }
}

INSTANTIATE_TEST_SUITE_P(Team, OfWidth, testing::Values(0, 1, 2, 4));

TEST(OwnTeam, OneThreadRunsAllShares) {
    OwnTeam team(1);
    EXPECT_TRUE(does_each_share_once(team, 1));
}

TEST(OwnTeam, NarrowTeamRunsAllSharesOnTheCaller) {
    OwnTeam team(3);
    team.keep_width(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the others sleep now
    std::atomic<int> elsewhere{0};
    auto self = std::this_thread::get_id();
    for (int round = 0; round < 100; ++round)
        run(team, 3, [&](int, int) { elsewhere += std::this_thread::get_id() != self; });
    EXPECT_EQ(elsewhere, 0);
}

// Beside busy neighbours, when the next tick of the system comes too soon.
TEST(OwnTeam, MembersStayIdle) {
    OwnTeam team(3);
    team.keep_width(3);
    team.keep_members_idle();
    std::atomic<int> elsewhere{0};
    auto self = std::this_thread::get_id();
    for (int round = 0; round < 1000; ++round)
        run(team, 3, [&](int, int) { elsewhere += std::this_thread::get_id() != self; });
    EXPECT_EQ(elsewhere, 0);
}

TEST(OwnTeam, IdleMembersJoinSharesThatMeet) {
    OwnTeam team(3);
    team.keep_width(3);
    team.keep_members_idle();
    for (int round = 0; round < 200; ++round) {
        std::vector<int> values(3, 0);
        std::atomic<int> wrong{0};
        run(team, 3, [&](int share, int) {
            values[size_t(share)] = 1;
            meet_other_shares();
            for (int value : values) wrong += value != 1;
        });
        ASSERT_EQ(wrong, 0);
        ASSERT_TRUE(does_each_share_once(team, 3));
    }
}

// Three shares, each of which waits until all have begun.
void let_shares_meet(OwnTeam& team) {
    std::atomic<int> begun{0};
    Work work = [&](int, int all) {
        ++begun;
        auto limit = std::chrono::steady_clock::now() + longest_wait;
        while (begun < all && std::chrono::steady_clock::now() < limit) {
        }
        EXPECT_EQ(begun, all);
    };
    team.run(
        3, [](void* w, int share, int all) { (*static_cast<Work*>(w))(share, all); }, &work,
        Waiting::for_each_other);
}

TEST(OwnTeam, IdleMembersJoinSharesThatWait) {
    OwnTeam team(3);
    team.keep_width(3);
    team.keep_members_idle();
    for (int round = 0; round < 20; ++round) let_shares_meet(team);
}

// As inside oneDNN: in a narrow team it would never end.
TEST(OwnTeam, SharesMayWaitForEachOther) {
    OwnTeam team(3);
    team.keep_width(1);
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        let_shares_meet(team);
    }
}

TEST(OwnTeam, SleepersWakeForWork) {
    OwnTeam team(2);
    team.keep_width(2);
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        // The caller's share ends only when another thread has done the other one.
        std::atomic<bool> other{false};
        run(team, 2, [&](int share, int) {
            if (share == 1) other = true;
            auto limit = std::chrono::steady_clock::now() + longest_wait;
            while (!other && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        });
        ASSERT_TRUE(other);
    }
}

double cpu_ms(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

// Beside a busy neighbour the scheduler may put a member where the caller runs: awake there it would only
// keep the caller from working.
TEST(OwnTeam, MembersDoNotSpinOnTheCallersCpu) {
    cpu_set_t before, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    constexpr int rounds = 300;
    // Each time a member waited awake would have cost 0.1 ms at least. Coming and going costs little, but
    // what a host takes from its machines counts, too: the least of some.
    constexpr double most_ms = 0.05 * rounds;
    double of_members = most_ms;
    for (int attempt = 0; attempt < 20 && of_members >= most_ms; ++attempt) {
        OwnTeam team(2);
        team.keep_width(2);
        auto used = [] { return cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_ms(CLOCK_THREAD_CPUTIME_ID); };
        double start = used();
        for (int round = 0; round < rounds; ++round) {
            ASSERT_TRUE(does_each_share_once(team, 2));
            ::usleep(100);  // the member comes, and finds nothing left to do
        }
        of_members = used() - start;
    }
    EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_LT(of_members, most_ms);
}

TEST(OwnTeam, MembersTakeNoSignals) {
    OwnTeam team(2);
    sigset_t blocked{};
    run(team, 2, [&](int share, int) {
        meet_other_shares();
        if (share == 1) pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    });
    EXPECT_TRUE(sigismember(&blocked, SIGINT));
    sigset_t own{};
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    EXPECT_FALSE(sigismember(&own, SIGINT));
}

TEST(SystemTick, IsPeriodic) {
    EXPECT_EQ(until_tick(1000, 1000, 40), 40);
    EXPECT_EQ(until_tick(1001, 1000, 40), 39);
    EXPECT_EQ(until_tick(1039, 1000, 40), 1);
    EXPECT_EQ(until_tick(1040, 1000, 40), 40);
    EXPECT_EQ(until_tick(999, 1000, 40), 1);
    EXPECT_EQ(until_tick(961, 1000, 40), 39);
    EXPECT_EQ(until_tick(960, 1000, 40), 40);
}

TEST(SystemTick, OccursWithinAPeriod) {
    watch_system_ticks();
    for (int i = 0; i < 1000; ++i) {
        Ticks until = until_system_tick();
        ASSERT_GE(until, 0);
        ASSERT_LE(until, system_tick_period());
    }
}

// Two threads on one CPU wait for each other.
TEST(RunDelay, CountsWaitsForACpu) {
    if (!run_delay(::gettid())) GTEST_SKIP() << "the system does not count how long threads wait for a CPU";
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    std::atomic<bool> stop{false};
    bool was_long = false;
    double of_first = 0;
    start_thread([&] {
        sched_setaffinity(0, sizeof one, &one);
        std::thread neighbour([&] {
            while (!stop) {
            }
        });
        RunDelay delay;
        delay.set_threads({::gettid()});
        delay.was_long(ticks_now());
        auto limit = std::chrono::steady_clock::now() + longest_wait;
        while (!was_long && std::chrono::steady_clock::now() < limit) {
            Ticks until = ticks_now() + 50'000 * ticks_per_microsecond();
            while (ticks_now() < until) {
            }
            was_long = delay.was_long(ticks_now());
        }
        of_first = delay.of_first();
        stop = true;
        neighbour.join();
    }).join();
    EXPECT_TRUE(was_long);
    EXPECT_GT(of_first, 0);
}

TEST(RunShares, InsideAShareThereIsOne) {
    std::atomic<int> inner{0}, wrong{0};
    run_shares(team_size(2), [&](int share, int shares) {
        Place here = place_in_team();
        wrong += here.share != share || here.shares != shares;
        run_shares(2, [&](int inner_share, int inner_shares) {
            wrong += inner_share != 0 || inner_shares != 1 || place_in_team().shares != 1;
            run_shares(2, [&](int, int innermost) { wrong += innermost != 1; });
            ++inner;
        });
        wrong += place_in_team().share != share;
    });
    EXPECT_EQ(inner, 2);
    EXPECT_EQ(wrong, 0);
    EXPECT_FALSE(is_in_share());
}

TEST(RunShares, ThreadsHaveTeamsOfTheirOwn) {
    std::atomic<long> sum{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller)
        callers.push_back(start_thread([&] {
            for (int round = 0; round < 200; ++round)
                run_shares(team_size(2 + round % 2), [&](int share, int) { sum += share + 1; });
        }));
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(sum, 6 * (100 * 3 + 100 * 6));
}

TEST(RunShares, TeamsEndWithTheirThread) {
    long before = live_threads();
    for (int round = 0; round < 10; ++round)
        start_thread([] { run_shares(team_size(3), [](int, int) {}); }).join();
    EXPECT_EQ(live_threads(), before);
}

#ifdef _OPENMP
TEST(OpenMpImports, AreRedirectedToTheTeamInItsScopeOnly) {
    ASSERT_EQ(team_kind(), TeamKind::own);
    // oneDNN's own number of threads, read from a primitive that reports it.
    auto threads_of_onednn = [] {
        std::vector<float> a(64 * 64, 1), b(64 * 64, 1), c(64 * 64);
        long before = live_threads();
        EXPECT_EQ(dnnl_sgemm('N', 'N', 64, 64, 64, 1, a.data(), 64, b.data(), 64, 0, c.data(), 64),
                  dnnl_success);
        EXPECT_EQ(c[17], 64);
        return live_threads() - before;
    };
    onednn::engine();
    run_shares(team_size(3), [](int, int) {});
    onednn::ThreadScope scope(3);
    EXPECT_EQ(onednn::ThreadScope::threads(), 3);
    // OpenMP's threads are not started.
    EXPECT_EQ(threads_of_onednn(), 0);
}

TEST(OpenMpImports, WeightsArePackedWithTheThreadsOfTheProblem) {
    std::vector<float> weight(512 * 512, 1);
    long before = live_threads();
    cpu::prepare_row({.n = 512, .k = 512, .stride_k = 512, .stride_n = 1}, weight.data(), 1, 1, {});
    EXPECT_EQ(live_threads(), before);
}
#endif

// The type of a child process's teams.
std::string kind_with(const char* setting) {
    setenv("MGE_THREAD_TEAM", setting, 1);
    std::string command = std::filesystem::read_symlink("/proc/self/exe").string() +
                          " --gtest_filter=RunShares.I*:RunShares.Threads* 2>&1";
    FILE* child = popen(command.c_str(), "r");
    std::string output;
    for (char line[256]; fgets(line, sizeof line, child);) output += line;
    int status = pclose(child);
    unsetenv("MGE_THREAD_TEAM");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "passed" : output;
}

TEST(TeamKind, OpenMpGivesEqualResults) {
    if (getenv("MGE_THREAD_TEAM")) GTEST_SKIP() << "this is the child";
    EXPECT_EQ(kind_with("openmp"), "passed");
    EXPECT_EQ(kind_with("own"), "passed");
    EXPECT_NE(kind_with("tbb").find("'tbb' is neither own nor openmp"), std::string::npos);
}

}  // namespace
}  // namespace mge
