// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/leave_cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace mge {
namespace {

cpu_set_t allowed_now() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

TEST(LeaveCpu, RestoresTheAffinity) {
    cpu_set_t before = allowed_now();
    EXPECT_EQ(leave_cpu(sched_getcpu()), CPU_COUNT(&before) > 1);
    cpu_set_t after = allowed_now();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(LeaveCpu, StaysWithASingleCpu) {
    std::thread([] {
        int cpu = sched_getcpu();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_FALSE(leave_cpu(cpu));
        cpu_set_t after = allowed_now();
        EXPECT_TRUE(CPU_EQUAL(&one, &after));
        EXPECT_EQ(sched_getcpu(), cpu);
    }).join();
}

TEST(LeaveCpu, RefusesInvalidCpus) {
    EXPECT_FALSE(leave_cpu(-1));
    EXPECT_FALSE(leave_cpu(CPU_SETSIZE));
}

}  // namespace
}  // namespace mge
