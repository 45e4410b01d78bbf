// SPDX-License-Identifier: Apache-2.0
// Random graphs: what a program computes is what eager operators compute, whatever the passes and the memory
// plan made of it; also from several contexts at once, and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "tests/compile/random_graphs.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

void expect_equal(const Tensor& got, const Tensor& expected, size_t output) {
    ASSERT_EQ(got.spec(), expected.spec()) << "output " << output;
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.spec().bytes()), 0) << "output " << output;
}

class RandomGraph : public testing::TestWithParam<int> {};

TEST_P(RandomGraph, CompiledEqualsEager) {
    for (uint32_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        Shape a{int64_t(random() % 5 + 1), int64_t(random() % 5 + 1)}, b{a[1], a[0]};
        Graph graph = record({f32(a), f32(b)}, [&](const Tensors& x) { return random_body(x, seed); });
        CompileOptions options;
        options.level = GetParam();
        options.verify_passes = true;
        Executable executable(graph, options);
        for (int run = 0; run < 2; ++run) {
            Tensors inputs{random_tensor(a, random), random_tensor(b, random)};
            Tensors expected = random_body(inputs, seed), got = executable.run(inputs);
            ASSERT_EQ(got.size(), expected.size());
            for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], expected[i], i);
        }
        auto memory = executable.program_for({f32(a), f32(b)})->memory();
        EXPECT_GE(memory.plan, memory.plan_lower_bound);
    }
}
INSTANTIATE_TEST_SUITE_P(Levels, RandomGraph, testing::Values(0, 1, 2));

TEST(Contexts, RunSideBySide) {
    constexpr uint32_t seed = 7;
    Graph graph = record({f32({5, 4}), f32({4, 5})}, [](const Tensors& x) { return random_body(x, seed); });
    auto program = Program::compile(graph, {});
    auto work = [&](uint32_t thread) {
        auto context = Context::create(program);
        std::mt19937 random(thread);
        for (int run = 0; run < 50; ++run) {
            Tensors inputs{random_tensor({5, 4}, random), random_tensor({4, 5}, random)};
            for (size_t i = 0; i < 2; ++i)
                std::memcpy(context->input(i), inputs[i].data(), inputs[i].spec().bytes());
            if (run % 2) {
                context->start();
                context->wait();
            } else {
                context->run();
            }
            Tensors expected = random_body(inputs, seed);
            for (size_t i = 0; i < expected.size(); ++i) expect_equal(context->output(i), expected[i], i);
        }
    };
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
    for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace mge::test
