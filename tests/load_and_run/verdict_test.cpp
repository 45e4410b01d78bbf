// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/verdict.h"

#include <gtest/gtest.h>

#include <random>

namespace mge::load_and_run {
namespace {

// Times as a machine gives them: most near 1 ms, slow stretches, and now and then a run that waits for
// others.
std::vector<double> times(uint64_t seed, double slowdown, size_t count = 600) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> noise(0, 0.01);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<double> result;
    double stretch = 0;
    for (size_t i = 0; i < count; ++i) {
        if (i % 50 == 0) stretch = 0.02 * unit(generator);
        double outlier = unit(generator) < 0.02 ? 3 * unit(generator) : 0;
        result.push_back((1 + stretch + noise(generator) + outlier) * (1 + slowdown));
    }
    return result;
}

int alarms(double slowdown, const char* condition, int pairs = 200) {
    int count = 0;
    for (int i = 0; i < pairs; ++i)
        count += judge(parse_condition(condition), times(uint64_t(2 * i + 1), 0),
                       times(uint64_t(2 * i + 2), slowdown))
                     .is_worse;
    return count;
}

TEST(Verdict, RaisesFewFalseAlarms) {
    EXPECT_LE(alarms(0, "p50>+3%"), 2);
    EXPECT_LE(alarms(0, "mean>+10%"), 2);
}

TEST(Verdict, FindsAPlantedSlowdown) { EXPECT_GE(alarms(0.05, "p50>+3%"), 190); }

TEST(Verdict, AcceptsChangesWithinTheLimit) { EXPECT_LE(alarms(0.02, "p50>+3%"), 2); }

TEST(Verdict, ReportsTheConfidenceInterval) {
    Verdict v = judge(parse_condition("p50>+3%"), times(1, 0), times(2, 0.1));
    EXPECT_LT(v.low_percent, v.change_percent);
    EXPECT_GT(v.high_percent, v.change_percent);
    EXPECT_NEAR(v.change_percent, 10, 2);
    EXPECT_EQ(v.rounds, 40u);
}

TEST(Verdict, TreatsFewTimesAsSingleRounds) {
    Verdict v = judge(parse_condition("p50>+3%"), std::vector{1.0, 1.0, 1.0}, std::vector{2.0, 2.0, 2.0});
    EXPECT_EQ(v.rounds, 3u);
    EXPECT_TRUE(v.is_worse);
}

// One run in thirty takes longer: rounds have to be long enough to have some of them.
TEST(Verdict, HighPercentilesNeedLongRounds) {
    std::vector<double> before, now;
    for (size_t i = 0; i < 600; ++i) {
        before.push_back(1 + 0.001 * double(i % 7));
        now.push_back(before.back() * (i % 30 == 0 ? 2 : 1));
    }
    EXPECT_TRUE(judge(parse_condition("p99 > +3 %"), before, now).is_worse);
    EXPECT_FALSE(judge(parse_condition("p50>+3%"), before, now).is_worse);
    EXPECT_THROW(judge(parse_condition("p99.9>+3%"), before, now), UserError);
    before.resize(400);
    EXPECT_THROW(judge(parse_condition("p99>+3%"), before, now), UserError);
    EXPECT_NO_THROW(judge(parse_condition("p90>+3%"), before, now));
}

// Pairs of rounds on a machine that is a third slower half of the time, and whose processes differ by
// themselves.
int alarms_of_pairs(double slowdown, int count = 100) {
    int result = 0;
    for (int i = 0; i < count; ++i) {
        std::mt19937_64 generator(uint64_t(i + 1));
        std::normal_distribution<double> noise(0, 0.02), process(0, 0.005);
        std::vector<double> before, now;
        double bias = 0;
        for (int round = 0; round < 80; ++round) {
            if (round % 8 == 0) bias = process(generator) - process(generator);
            double slow = generator() % 2 ? 1.3 : 1;
            before.push_back(slow * (1 + noise(generator)));
            now.push_back(slow * (1 + noise(generator) + bias) * (1 + slowdown));
        }
        result += judge_pairs(parse_condition("p50>+3%"), before, now).is_worse;
    }
    return result;
}

TEST(Verdict, PairsCancelCommonNoise) {
    EXPECT_LE(alarms_of_pairs(0), 1);
    EXPECT_GE(alarms_of_pairs(0.05), 95);
}

TEST(Condition, IsParsed) {
    Condition c = parse_condition("p99.9>+2.5%");
    EXPECT_EQ(c.percentile, 99.9);
    EXPECT_EQ(c.limit_percent, 2.5);
    EXPECT_EQ(parse_condition("mean>10%").limit_percent, 10);
    for (auto* bad : {"", "p50", "p50>", "p50>3", "p50>-3%", "p101>3%", "px>3%", "speed>3%", "p50>+nan%"})
        EXPECT_THROW(parse_condition(bad), UserError) << bad;
}

}  // namespace
}  // namespace mge::load_and_run
