// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/lock_wait.h"

#include <gtest/gtest.h>

namespace mge {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(LockWait, ShortWaitsThatGetTheirLockAreFree) {
    LockWait wait("a file", milliseconds(20));
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(wait.wait_a_moment(true)) << i;
}

TEST(LockWait, AWaitForOneLockEnds) {
    LockWait wait("a file", milliseconds(100));
    auto begin = Clock::now();
    wait.wait_a_moment(true);
    int tries = 0;
    while (wait.wait_a_moment()) ASSERT_LT(++tries, 200);
    EXPECT_GE(Clock::now() - begin, milliseconds(100));
    EXPECT_FALSE(wait.wait_a_moment(true)) << "used up for all later waits";
}

}  // namespace
}  // namespace mge
