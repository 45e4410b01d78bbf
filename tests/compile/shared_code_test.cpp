// SPDX-License-Identifier: Apache-2.0
// Equal steps share the code that was generated for them, and only they.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr int64_t channels = 32;

Tensor ramp(const Shape& shape, int seed) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

CompileOptions on_one_thread() {
    CompileOptions o;
    o.layout = "nchw";
    o.threads = 1;
    return o;
}

// Convolutions of `size` × `size` kernels, one after the other.
Graph convolutions(const std::vector<int64_t>& sizes) {
    return record({f32({1, channels, 14, 14})}, [&](const Tensors& x) {
        Tensor y = x[0];
        for (int64_t size : sizes)
            y = ops::conv2d(y, ramp({channels, channels, size, size}, int(y.spec().shape.rank() + size)),
                            {.padding = {int(size / 2), int(size / 2)}});
        return Tensors{y};
    });
}

size_t program_bytes(const std::vector<int64_t>& sizes) {
    return Program::compile(convolutions(sizes), on_one_thread())->memory().program;
}

TEST(SharedCode, IsGeneratedOnceForEqualSteps) {
    EXPECT_LT(program_bytes({3, 3, 3, 3}), program_bytes({1, 3, 5, 7}));
    EXPECT_LT(program_bytes({3, 3, 3, 3}) - program_bytes({3}),
              program_bytes({1, 3, 5, 7}) - program_bytes({3}));
}

TEST(SharedCode, IsNotSharedWhenTheWorkDiffers) {
    Tensor weight = ramp({channels, channels, 3, 3}, 1), x = ramp({1, channels, 14, 14}, 2);
    std::vector<std::unique_ptr<Context>> alive;  // destroyed contexts share nothing
    auto run = [&](auto&& behind) {
        Graph graph = record({f32({1, channels, 14, 14})}, [&](const Tensors& in) {
            return Tensors{behind(ops::conv2d(in[0], weight, {.padding = {1, 1}}), in[0])};
        });
        auto& context = *alive.emplace_back(Context::create(Program::compile(graph, on_one_thread())));
        context.fill_inputs(Tensors{x});
        context.run();
        return context.copy_output(0);
    };
    Tensor plain = run([](const Tensor& y, const Tensor&) { return y; });
    Tensor with_relu = run([](const Tensor& y, const Tensor&) { return ops::relu(y); });
    Tensor with_sum = run([](const Tensor& y, const Tensor& in) { return ops::add(y, in); });
    Tensor with_sigmoid = run([](const Tensor& y, const Tensor&) { return ops::sigmoid(y); });
    for (int64_t i = 0; i < plain.spec().numel(); ++i) {
        float value = plain.data<float>()[i];
        ASSERT_NEAR(with_relu.data<float>()[i], std::max(value, 0.f), 1e-4f) << i;
        ASSERT_NEAR(with_sum.data<float>()[i], value + x.data<float>()[i], 1e-4f) << i;
        ASSERT_NEAR(with_sigmoid.data<float>()[i], 1 / (1 + std::exp(-value)), 1e-4f) << i;
    }
}

TEST(SharedCode, RunsOnSeveralThreadsAtOnce) {
    auto program = Program::compile(convolutions({3, 3, 1, 1}), on_one_thread());
    auto other = Program::compile(convolutions({3, 3, 1, 1}), on_one_thread());
    Tensor x = ramp({1, channels, 14, 14}, 3);
    auto once = [&](const std::shared_ptr<const Program>& p) {
        auto context = Context::create(p);
        context->fill_inputs(Tensors{x});
        context->run();
        return context->copy_output(0);
    };
    Tensor expected = once(program);
    std::atomic<int> differ{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int run = 0; run < 20; ++run) {
                Tensor got = once(t % 2 ? program : other);
                differ += !std::equal(got.data<float>(), got.data<float>() + got.spec().numel(),
                                      expected.data<float>());
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(differ, 0);
}

}  // namespace
}  // namespace mge::test
