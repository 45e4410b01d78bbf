// SPDX-License-Identifier: Apache-2.0
// What only a GPU that is emulated can be made to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "libmge/mge.h"
#include "tests/cuda/emulated/memory.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceId gpu() { return other_device().id; }

TEST(EmulatedCuda, WantOfMemoryNamesWhatWasAsked) {
    device(gpu()).release_cached();
    cuda::emulated::set_memory(size_t(64) << 20);
    EXPECT_THAT(error_of<MemoryError>([] { queue_of(gpu()).allocate(size_t(100) << 20); }),
                AllOf(HasSubstr("gpu0 has no 104857600 bytes of memory left"), HasSubstr("held")));
    // What is cached elsewhere is given back first.
    { auto most = queue_of(gpu()).allocate(size_t(40) << 20); }
    DeviceId other = gpu();
    other.stream = 2;
    EXPECT_TRUE(queue_of(other).allocate(size_t(40) << 20));
    cuda::emulated::set_memory(size_t(8) << 30);
}

TEST(EmulatedCuda, AFaultThatLastsNamesTheLastOperators) {
    Tensor x = on(gpu(), {1, 2, 3});
    queue_of(gpu()).wait();  // what is under way would be lost, too
    Tensor y = ops::exp(ops::add(x, x));
    cuda::emulated::fail_next(cudaErrorIllegalAddress);
    std::string message = error_of<DeviceError>([&] { floats_of(y); });
    EXPECT_THAT(message, AllOf(HasSubstr("cudaErrorIllegalAddress (700)"),
                               HasSubstr("is lost to this process"), HasSubstr("last launched: exp, add")));
    EXPECT_THAT(error_of<DeviceError>([&] { ops::add(x, x); }), HasSubstr("cudaErrorIllegalAddress"));
    cuda::emulated::revive();
    EXPECT_EQ(floats_of(ops::add(x, x))[2], 6);
}

// Runs of a program, with the level at which contexts record them.
struct Runs {
    explicit Runs(int level) {
        GraphBuilder builder;
        {
            InterpreterScope scope(builder);
            Tensor x = builder.input({DType::f32, {3}, {}}, "x");
            builder.set_outputs({ops::cumsum(ops::exp(x), {.axis = 0})});
        }
        CompileOptions options;
        options.device = gpu();
        options.comp_node_seq_record_level = level;
        options.var_sanity_check_first_run = false;
        context = Context::create(Program::compile(builder.take(), options));
    }
    size_t launched_graphs(int runs) {
        size_t before = cuda::emulated::launched_graphs();
        for (int i = 0; i < runs; ++i) {
            context->run();
            context->wait();
        }
        return cuda::emulated::launched_graphs() - before;
    }
    std::unique_ptr<Context> context;
};

TEST(EmulatedCuda, RecordedRunsAreOneCall) {
    EXPECT_EQ(Runs(0).launched_graphs(5), 0U);
    EXPECT_EQ(Runs(1).launched_graphs(5), 4U) << "the first goes step by step";
    EXPECT_EQ(Runs(2).launched_graphs(5), 4U);
}

TEST(EmulatedCuda, AFaultInARecordedRunNamesTheGraph) {
    Runs runs(1);
    runs.launched_graphs(2);
    cuda::emulated::fail_next(cudaErrorIllegalAddress);
    std::string message = error_of<DeviceError>([&] { runs.launched_graphs(1); });
    EXPECT_THAT(message, AllOf(HasSubstr("is lost to this process"), HasSubstr("as it was recorded")));
    cuda::emulated::revive();
    EXPECT_EQ(runs.launched_graphs(2), 2U);
}

TEST(EmulatedCuda, WhatCannotBeRecordedGoesStepByStep) {
    Runs runs(1);
    runs.launched_graphs(1);
    cuda::emulated::break_next_capture();
    EXPECT_EQ(runs.launched_graphs(3), 0U);
}

// Three regions with sines of their own between products, and what else a test adds.
Graph regions(double number, bool with_sum = false) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {4, 4}, {}}, "x"), y = x;
    for (int i = 0; i < 3; ++i)
        y = ops::matmul(ops::sin(ops::add(y, scalar_tensor(number + i, DType::f32, host_device))), x);
    y = ops::exp(ops::cos(y));
    builder.set_outputs({with_sum ? ops::sum(ops::mul(y, y), {.axes = {0}}) : y});
    return builder.take();
}

std::shared_ptr<const Program> on_gpu(Graph graph, bool measures = false) {
    CompileOptions options;
    options.device = gpu();
    options.select.profile = measures;
    return Program::compile(std::move(graph), options);
}

size_t texts_compiled(const std::function<void()>& work) {
    size_t before = cuda::emulated::compiled_texts();
    work();
    return cuda::emulated::compiled_texts() - before;
}

TEST(EmulatedCuda, TheTextsOfAProgramAreCompiledAsOne) {
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5)); }), 1U);
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5)); }), 0U) << "its kernels are there";
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(0.5, true)); }), 1U);
    EXPECT_EQ(texts_compiled([] { on_gpu(regions(7.5), true); }), 1U) << "before any of them is measured";
    EXPECT_EQ(texts_compiled([] {
                  Tensor x = ops::reshape(on(host_device, std::vector<float>(16, 1)), {.shape = {4, 4}});
                  auto context = Context::create(on_gpu(regions(0.5)));
                  context->fill_inputs({&x, 1});
                  context->run();
                  context->wait();
              }),
              0U)
        << "nothing is left for the runs";
}

TEST(EmulatedCuda, WhatRunsAtOnceWaitsForNoCompiler) {
    EXPECT_EQ(texts_compiled([] {
                  Tensor x = on(gpu(), {1, 2, 3});
                  floats_of(ops::sum(ops::cos(ops::exp(ops::add(x, x))), {.axes = {0}}));
              }),
              0U);
}

TEST(EmulatedCudaDeathTest, TheHostCannotReadItsMemory) {
    Tensor x = on(gpu(), {1});
    EXPECT_DEATH(static_cast<volatile const float*>(x.address())[0], "");
}

TEST(EmulatedCudaDeathTest, AChildOfForkIsTold) {
    Tensor x = on(gpu(), {1});
    EXPECT_EXIT(
        {
            std::string message = error_of<DeviceError>([&] { ops::add(x, x); });
            std::exit(message.find("child of fork()") != std::string::npos ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mge::test
