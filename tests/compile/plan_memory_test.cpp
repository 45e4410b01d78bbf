// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/plan_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>

#include "libmge/base/error.h"

namespace mge {
namespace {

// Checked without verify_plan, so that a fault common to planner and verifier would be seen.
void expect_no_overlap(const std::vector<MemoryBlock>& blocks, const MemoryPlan& plan) {
    for (size_t a = 0; a < blocks.size(); ++a)
        for (size_t b = a + 1; b < blocks.size(); ++b) {
            if (blocks[a].first > blocks[b].last || blocks[b].first > blocks[a].last) continue;
            bool apart = plan.offsets[a] + blocks[a].bytes <= plan.offsets[b] ||
                         plan.offsets[b] + blocks[b].bytes <= plan.offsets[a];
            ASSERT_TRUE(apart || !blocks[a].bytes || !blocks[b].bytes) << a << " " << b;
        }
}

size_t peak(const std::vector<MemoryBlock>& blocks) {
    size_t peak = 0;
    for (int step = 0; step < 1000; ++step) {
        size_t live = 0;
        for (auto& b : blocks)
            if (b.first <= step && step <= b.last) live += align_up(b.bytes);
        peak = std::max(peak, live);
    }
    return peak;
}

TEST(PlanMemory, IsEmptyWithoutBlocks) {
    MemoryPlan plan = plan_memory({});
    EXPECT_EQ(plan.bytes, 0u);
    EXPECT_EQ(plan.lower_bound, 0u);
}

TEST(PlanMemory, ReusesDeadBlocks) {
    std::vector<MemoryBlock> chain{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {0, 2, 3}};
    MemoryPlan plan = plan_memory(chain);
    EXPECT_EQ(plan.bytes, 256u);
    EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

// A hundred thousand blocks take less than a second; looking at all pairs would take a minute.
void expect_quick(const std::vector<MemoryBlock>& blocks, double over_bound) {
    double begin = cpu_seconds();
    MemoryPlan plan = plan_memory(blocks);
    EXPECT_LT(cpu_seconds() - begin, 15);
    EXPECT_LE(double(plan.bytes), over_bound * double(plan.lower_bound));
}

constexpr int many = 100'000;

TEST(PlanMemory, TimeGrowsWithTheBlocksWhenFewAreAliveTogether) {
    std::vector<MemoryBlock> blocks;
    for (int i = 0; i < many; ++i) blocks.push_back({size_t(64 * (1 + i % 7)), i, i + 1 + i % 5});
    expect_quick(blocks, 1.05);
}

TEST(PlanMemory, TimeGrowsWithTheBlocksWhenAllAreAliveTogether) {
    std::vector<MemoryBlock> blocks;
    for (int i = 0; i < many; ++i) blocks.push_back({size_t(64 * (1 + i % 7)), i, many + i % 3});
    expect_quick(blocks, 1);
    // Half of them end on the way, and leave gaps for what comes.
    for (int i = 0; i < many; i += 2) blocks[size_t(i)].last = i + many / 4;
    expect_quick(blocks, 1.2);
}

TEST(PlanMemory, KeepsRandomBlocksApart) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        std::vector<MemoryBlock> blocks(random() % 80 + 1);
        for (auto& b : blocks) {
            b.bytes = random() % 5 == 0 ? random() % 100000 : random() % 500;
            b.first = int(random() % 60);
            b.last = b.first + int(random() % 3 == 0 ? random() % 40 : random() % 3);
        }
        MemoryPlan plan = plan_memory(blocks);
        expect_no_overlap(blocks, plan);
        EXPECT_EQ(plan.lower_bound, peak(blocks));
        EXPECT_GE(plan.bytes, plan.lower_bound);
    }
}

// The shape of real networks: a chain of activations that shrink, shortcuts over a few steps, workspaces.
TEST(PlanMemory, ReachesTheBoundOnNetworks) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        std::vector<MemoryBlock> blocks;
        size_t bytes = 3211264;
        int steps = 50 + int(random() % 100);
        for (int step = 0; step < steps; ++step) {
            if (random() % 12 == 0) bytes = std::max<size_t>(bytes / 2, 4096);
            bool shortcut = random() % 3 == 0;
            blocks.push_back({bytes, step, step + 1 + (shortcut ? int(random() % 3) : 0)});
            if (random() % 2) blocks.push_back({random() % (4 * bytes), step, step});
        }
        MemoryPlan plan = plan_memory(blocks);
        expect_no_overlap(blocks, plan);
        EXPECT_LE(double(plan.bytes), 1.02 * double(plan.lower_bound));
    }
}

TEST(PlanMemory, VerifierRefusesOverlap) {
    std::vector<MemoryBlock> blocks{{64, 0, 1}, {64, 1, 2}};
    MemoryPlan plan{{0, 0}, 128, 128};
    EXPECT_THROW(verify_plan(blocks, plan), InternalError);
    plan.offsets = {0, 64};
    verify_plan(blocks, plan);
    plan.offsets = {0, 96};
    EXPECT_THROW(verify_plan(blocks, plan), InternalError);
}

}  // namespace
}  // namespace mge
