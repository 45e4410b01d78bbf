// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/team_width.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "libmge/base/threads/idle_cpus.h"
#include "tests/harness/small_stack.h"

namespace mge {
namespace {

constexpr TeamWidth::Pauses pauses{.shortest = 10, .longest = 40, .calm = 15};

TEST(TeamWidth, IsAllThreadsUntilOneIsLost) {
    TeamWidth width(2, 2, pauses);
    for (int now = 0; now < 1000; ++now) EXPECT_EQ(width.at(now), 2);
    width.lose_cpu(1000);
    EXPECT_EQ(width.at(1001), 1);
    EXPECT_EQ(width.at(1009), 1);
    EXPECT_EQ(width.at(1010), 2);
}

TEST(TeamWidth, PausesDoubleWhileItStaysCrowded) {
    TeamWidth width(2, 2, pauses);
    TeamWidth::Ticks now = 100;
    std::vector<TeamWidth::Ticks> lengths;
    for (int i = 0; i < 5; ++i) {
        width.lose_cpu(now);
        auto begin = now;
        while (width.at(now) == 1) ++now;
        lengths.push_back(now - begin);
        now += 14;  // it does not last
    }
    EXPECT_EQ(lengths, (std::vector<TeamWidth::Ticks>{10, 20, 40, 40, 40}));
    now += 1000;  // it lasts: the neighbour has ended
    width.lose_cpu(now);
    EXPECT_EQ(width.at(now + 9), 1);
    EXPECT_EQ(width.at(now + 10), 2);
}

// 8 shares take 2 rounds with 4 threads and with 7.
TEST(TeamWidth, UsesOnlyWidthsThatSaveARound) {
    TeamWidth width(8, 8, pauses);
    std::vector<int> widths{width.at(0)};
    for (TeamWidth::Ticks now = 1; now < 6; ++now) {
        width.lose_cpu(now);
        widths.push_back(width.at(now));
    }
    EXPECT_EQ(widths, (std::vector{8, 4, 3, 2, 1, 1}));
}

TEST(TeamWidth, IsNeverWiderThanTheQuota) {
    TeamWidth one(2, 1, pauses), three(8, 3, pauses);
    EXPECT_EQ(one.at(0), 1);
    EXPECT_FALSE(one.is_narrow());
    one.find_idle(8, 1);
    EXPECT_EQ(one.at(1000), 1);
    EXPECT_EQ(three.at(0), 3);
    three.lose_cpu(1);
    EXPECT_EQ(three.at(2), 2);
    EXPECT_EQ(three.at(1000), 3);
}

TEST(TeamWidth, WidensStepByStep) {
    TeamWidth width(8, 8, pauses);
    width.lose_cpu(1);
    width.lose_cpu(2);
    EXPECT_EQ(width.at(2), 3);
    std::vector<int> widths;
    for (TeamWidth::Ticks now = 3; now < 30; ++now)
        if (int w = width.at(now); widths.empty() || widths.back() != w) widths.push_back(w);
    EXPECT_EQ(widths, (std::vector{3, 4, 8}));
}

TEST(TeamWidth, IdleProcessorsEndThePause) {
    TeamWidth width(8, 8, pauses);
    width.lose_cpu(1);
    EXPECT_EQ(width.at(2), 4);
    width.find_idle(3, 3);  // a team of 8 would have to share one
    EXPECT_EQ(width.at(4), 4);
    width.find_idle(4, 5);
    EXPECT_EQ(width.at(6), 8);
    width.find_idle(8, 7);
    EXPECT_EQ(width.at(8), 8);
}

// After a long disturbance, another long one is not expected soon.
TEST(TeamWidth, IdleProcessorsMakePausesShortAgain) {
    TeamWidth width(2, 2, pauses);
    TeamWidth::Ticks now = 100;
    for (int i = 0; i < 4; ++i) {
        width.lose_cpu(now);
        while (width.at(now) == 1) ++now;
    }
    width.lose_cpu(now);
    width.find_idle(1, now + 1);
    EXPECT_EQ(width.at(now + 1), 2);
    now += 17;  // calm enough
    width.lose_cpu(now);
    EXPECT_EQ(width.at(now + 9), 1);
    EXPECT_EQ(width.at(now + 10), 2);
}

TEST(IdleTime, CountsUsableProcessorsOnly) {
    const char* stat =
        "cpu  10 0 10 400 5 0 0 0 0 0\n"
        "cpu0 5 0 5 100 1 0 0 0 0 0\n"
        "cpu1 5 0 5 200 2 0 0 0 0 0\n"
        "cpu2 5 0 5 100 2 0 0 0 0 0\n"
        "intr 1 2 3\n";
    bool is_usable[1024] = {true, false, true};
    EXPECT_EQ(idle_time(stat, is_usable), 203);
    bool none[1024] = {};
    EXPECT_EQ(idle_time(stat, none), std::nullopt);
    EXPECT_EQ(idle_time("", is_usable), std::nullopt);
    EXPECT_EQ(idle_time("cpu  1 2 3\ncpu0 1 2", is_usable), std::nullopt);
}

TEST(IdleTime, IsReadOnSmallStacks) {
    test::on_small_stack([] {
        IdleCpus cpus;
        cpus.start(1);
        auto idle = cpus.look(1 + ticks_per_microsecond() * 1'000'000);
        EXPECT_GE(idle.value_or(0), 0);
    });
}

TEST(TeamWidth, OneThreadHasWidthOne) {
    TeamWidth width(1, 1, pauses);
    width.lose_cpu(5);
    EXPECT_EQ(width.at(6), 1);
}

}  // namespace
}  // namespace mge
