// SPDX-License-Identifier: Apache-2.0
// Random graphs: what a program computes is what eager operators compute, whatever the passes and the memory
// plan made of it; also from several contexts at once, and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

// Small whole numbers: sums are exact, so results have to be equal to the bit.
Tensor random_tensor(const Shape& shape, std::mt19937& random) {
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(int(random() % 9) - 4);
    return tensor_from_host(f32(shape), values.data());
}

// Keeps sums of products exact.
Tensor limited(const Tensor& x) { return ops::clip(x, {.lower = -4, .upper = 4}); }

// The same sequence of operators for every call with the same seed.
Tensors random_body(const Tensors& inputs, uint32_t seed) {
    std::mt19937 random(seed);
    Tensors pool = inputs;
    auto pick = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 30; ++i) {
        Tensor x = pick();
        int64_t rows = x.shape()[0], columns = x.shape()[1];
        switch (random() % 12) {
            case 0:
                pool.push_back(ops::add(x, x));
                break;
            case 1:
                pool.push_back(ops::add(x, random_tensor({1, columns}, random)));
                break;
            case 2:
                pool.push_back(ops::transpose(x, {.pattern = {1, 0}}));
                break;
            case 3:
                pool.push_back(ops::reshape(x, {.shape = {columns, rows}}));
                break;
            case 4: {
                Tensor y = pick();
                if (y.shape() == x.shape()) pool.push_back(ops::add(x, y));
                break;
            }
            case 5:
                if (rows * columns < 200) pool.push_back(ops::concat({x, x}, {.axis = int(random() % 2)}));
                break;
            case 6:
                if (rows > 1)
                    for (auto& part : ops::split(x, {.axis = 0, .sizes = {1, rows - 1}}))
                        pool.push_back(part);
                break;
            case 7:
                pool.push_back(ops::flip(x, {.axes = {int64_t(random() % 2)}}));
                break;
            case 8:
                pool.push_back(ops::relu(x));
                break;
            case 9:
                pool.push_back(ops::sub(ops::mul(x, random_tensor({rows, 1}, random)), x));
                break;
            case 10: {
                Tensor weight = random_tensor({columns, 3}, random), bounded = limited(x);
                Tensor y = ops::add(ops::matmul(bounded, weight), random_tensor({3}, random));
                pool.push_back(random() % 2 ? ops::relu(y) : y);
                break;
            }
            case 11: {
                Tensor y = ops::matmul(limited(x), random_tensor({columns, columns}, random));
                pool.push_back(ops::add(x, y));
                break;
            }
        }
    }
    Tensors outputs;
    for (int i = 0; i < 4; ++i) outputs.push_back(pick());
    outputs.push_back(pool.back());
    return outputs;
}

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
