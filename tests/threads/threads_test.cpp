// SPDX-License-Identifier: Apache-2.0
// Tensors used from several threads, and processes that compute after fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "libmge/base/threads/thread_team.h"
#include "libmge/base/threads/threads.h"
#include "libmge/mge.h"
#include "tests/child_alarm.h"

namespace mge {
namespace {

constexpr int64_t side = 400;  // large enough for a team

Tensor numbers() { return ops::reshape(ops::arange({.stop = double(side * side)}), {.shape = {side, side}}); }

// Runs own parallel loops and a matrix product (oneDNN) and gives one number that depends on all of them.
float compute(const Tensor& x) {
    Tensor turned = ops::transpose(x, {.pattern = {1, 0}});
    Tensor sum = ops::add(x, turned);
    Tensor unit = ops::eye({.n = side});
    Tensor total = ops::reduce_to_shape(ops::matmul(sum, unit), {.shape = {1, 1}});
    return total.data<float>()[0];
}

// True when the child ended well; one that hangs is killed by its alarm.
bool child_computes(const Tensor& x, float expected) {
    pid_t child = fork();
    if (child == 0) {
        alarm(child_seconds);
        bool right = compute(x) == expected && default_threads() == 1;
        _exit(right ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Team : public testing::Test {
protected:
    void SetUp() override { set_default_threads(2); }
    void TearDown() override { set_default_threads(threads_); }

private:
    int threads_ = default_threads();
};

TEST_F(Team, ChildrenComputeAfterFork) {
    Tensor x = numbers();
    float expected = compute(x);
    for (int round = 0; round < 200; ++round) ASSERT_TRUE(child_computes(x, expected)) << "round " << round;
    EXPECT_EQ(default_threads(), 2);  // the parent keeps its team
    EXPECT_FALSE(is_team_lost());
    EXPECT_EQ(compute(x), expected);
}

TEST_F(Team, ChildrenComputeWhileAnotherThreadComputes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep locks of other threads in the child";
#endif
    Tensor x = numbers();
    float expected = compute(x);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) compute(x);
    });
    for (int round = 0; round < 20; ++round) EXPECT_TRUE(child_computes(x, expected)) << "round " << round;
    stop = true;
    other.join();
}

TEST_F(Team, GrandchildrenComputeToo) {
    Tensor x = numbers();
    float expected = compute(x);
    pid_t child = fork();
    if (child == 0) {
        alarm(child_seconds);
        set_default_threads(2);  // has no effect: there is no team
        _exit(default_threads() == 1 && child_computes(x, expected) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Team, SeveralThreadsUseTheSameTensors) {
    Tensor x = numbers();
    float expected = compute(x);
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) right += compute(x) == expected;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 80);
}

TEST_F(Team, TensorsTravelBetweenThreads) {
    std::vector<Tensor> made(64);
    std::thread maker([&] {
        for (size_t i = 0; i < made.size(); ++i) made[i] = ops::full({.shape = {100}, .value = double(i)});
    });
    maker.join();
    std::atomic<int> right{0};
    std::vector<std::thread> users;
    for (size_t part = 0; part < 4; ++part)
        users.emplace_back([&, part] {
            for (size_t i = part; i < made.size(); i += 4) {
                Tensor twice = ops::add(made[i], made[i]);
                right += twice.data<float>()[99] == float(2 * i);
                made[i] = Tensor();  // freed by another thread than the one that made it
            }
        });
    for (auto& user : users) user.join();
    EXPECT_EQ(right, 64);
}

TEST_F(Team, ErrorsStayInTheirThread) {
    std::atomic<int> caught{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            try {
                ops::reshape(numbers(), {.shape = {7}});
            } catch (const UserError&) {
                ++caught;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(caught, 4);
}

}  // namespace
}  // namespace mge
