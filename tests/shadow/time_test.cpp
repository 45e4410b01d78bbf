// SPDX-License-Identifier: Apache-2.0
// Asynchronous effects: errors, waiting threads, clocks, memory needed by copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/eager/async_level.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/ops/move/to_device.h"
#include "tests/harness/expect_error.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class AtLevel {
public:
    explicit AtLevel(int level) : before_(async_level()) { set_async_level(level); }
    ~AtLevel() { set_async_level(before_); }
    AtLevel(const AtLevel&) = delete;

private:
    int before_;
};

TEST(EagerAsyncLevel, DeterminesWhereErrorsAreThrown) {
    DeviceId device = shadow_device(1, 2);
    Tensor x = on(device, {1});
    floats_of(ops::sub(x, x));
    for (int level : {1, 2}) {
        AtLevel scope(level);
        queue_of(device).wait();  // memory that was given back
        fail_next_work(device, "no more light");
        Tensor y = ops::sub(x, x);
        EXPECT_EQ(error_of<DeviceError>([&] { floats_of(y); }), "sub: no more light");
    }
    {
        AtLevel scope(0);
        queue_of(device).wait();
        fail_next_work(device, "no more light");
        EXPECT_EQ(error_of<DeviceError>([&] { ops::sub(x, x); }), "sub: no more light");
    }
    EXPECT_THAT(floats_of(ops::sub(x, x)), ElementsAre(0));
    // Shapes are checked at the call at every level.
    EXPECT_THROW(ops::add(on(device, {1, 2}), on(device, {1, 2, 3})), UserError);
    EXPECT_THROW(set_async_level(3), UserError);
}

TEST(EagerAsyncLevel, ErrorFollowsMovedValues) {
    DeviceId from = shadow_device(0, 1), to = shadow_device(1, 1);
    Tensor x = on(from, {1});
    floats_of(ops::add(x, x));
    floats_of(to_device(x, to));
    fail_next_work(from, "a bit is lost");
    Tensor y = to_device(ops::add(x, x), to);
    EXPECT_EQ(error_of<DeviceError>([&] { floats_of(y); }), "add: a bit is lost");
    queue_of(from).wait();  // reported once
}

Graph squares() {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    builder.set_outputs({ops::mul(x, x)});
    return builder.take();
}

std::unique_ptr<Context> context_on(DeviceId device) {
    return Context::create(
        Program::compile(squares(), {.device = device, .level = 0, .var_sanity_check_first_run = false}));
}

TEST(ShadowErrors, NameGraphAndOperatorAndDoNotMix) {
    DeviceId device = shadow_device(0, 2);
    auto one = context_on(device), two = context_on(device);
    Tensor x = on(host_device, {1, 2, 3});
    for (auto* context : {&one, &two}) (*context)->fill_inputs({&x, 1});
    queue_of(device).wait();
    for (int round = 0; round < 5; ++round) {
        queue_of(device).wait();
        fail_next_work(device, "a fuse is blown");
        one->run();
        queue_of(device).wait();
        two->run();
        two->wait();
        EXPECT_THAT(floats_of(two->output(0)), ElementsAre(1, 4, 9));
        EXPECT_THAT(
            error_of<DeviceError>([&] { one->wait(); }),
            AllOf(HasSubstr(text("graph ", one->program().id(), ", mul")), HasSubstr(": a fuse is blown")));
        one->run();
        one->wait();
        EXPECT_THAT(floats_of(one->output(0)), ElementsAre(1, 4, 9));
    }
}

// Reading an output is waiting.
TEST(ShadowErrors, AreThrownToReaders) {
    DeviceId device = shadow_device(0, 2);
    auto context = context_on(device);
    Tensor x = on(host_device, {1, 2, 3});
    context->fill_inputs({&x, 1});
    queue_of(device).wait();
    fail_next_work(device, "a fuse is blown");
    context->run();
    EXPECT_THAT(error_of<DeviceError>([&] { context->output(0); }), HasSubstr("mul"));
    context->wait();
    // Also an error without an operator is reported to a wait for the context.
    fail_next_work(device, "a wire is cut");
    context->fill_inputs({&x, 1});
    EXPECT_EQ(error_of<DeviceError>([&] { context->wait(); }), "a wire is cut");
}

// Its context is not accessible.
TEST(ShadowErrors, AreThrownWhenResultsAreRead) {
    DeviceId device = shadow_device(0, 2);
    Executable executable(squares(), {.device = device, .level = 0, .var_sanity_check_first_run = false});
    Tensor x = on(device, {1, 2, 3});
    floats_of(executable.run(Tensors{x})[0]);
    queue_of(device).wait();
    fail_next_work(device, "a fuse is blown");
    Tensor y = executable.run(Tensors{x})[0];
    EXPECT_THAT(error_of<DeviceError>([&] { floats_of(y); }), AllOf(HasSubstr("graph "), HasSubstr("mul")));
    EXPECT_THAT(floats_of(executable.run(Tensors{x})[0]), ElementsAre(1, 4, 9));
}

int64_t nanoseconds_now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(ShadowProfiler, WaitsForStepsAsConfigured) {
    DeviceId device = shadow_device(0, 2);
    HiddenClock without(device);
    auto context = context_on(device);
    Tensor x = on(host_device, {1, 2, 3});
    context->fill_inputs({&x, 1});
    queue_of(device).wait();
    auto held = std::make_unique<HeldQueue>(device);
    std::atomic<int64_t> released = 0;
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        released = nanoseconds_now();
        held.reset();
    });
    Profiler profiler(context->program(), {.waits = true});
    context->observe(&profiler);
    context->run();
    context->observe(nullptr);
    release.join();
    auto runs = profiler.runs(0);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_GE(runs[0].start + runs[0].duration(), released);
    const Profiler* profilers[] = {&profiler};
    Profile profile = make_profile(context->program(), {}, profilers);
    EXPECT_EQ(profile.values.at(size_t(profile.steps.at(0).outputs.at(0))).device, physical_name(device));
}

Graph across(DeviceId one, DeviceId two) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    Tensor y = ops::to_device(x, {.device = one});
    for (int i = 0; i < 6; ++i) {
        Tensor there = ops::to_device(ops::add(y, y), {.device = two});
        y = ops::to_device(ops::sub(ops::mul(there, there), there), {.device = one});
    }
    builder.set_outputs({ops::to_device(y, {.device = {}})});
    return builder.take();
}

TEST(ShadowThreads, EachDeviceHasAnEnqueuingThread) {
    DeviceId one = shadow_device(0, 0), two = shadow_device(1, 1);
    Graph graph = across(one, two);
    Tensor x = on(host_device, {.25f, .5f, -1});
    std::vector<float> expected;
    for (int level : {0, 1, 2, 4, 6}) {
        auto program = Program::compile(graph, {.async_exec_level = level});
        std::set<int> threads;
        for (auto& step : program->steps()) threads.insert(step.thread);
        EXPECT_EQ(threads.size(), level == 0 ? 1u : 3u);
        auto context = Context::create(program);
        for (int round = 0; round < 15; ++round) {
            context->fill_inputs({&x, 1});
            context->run();
            context->wait();
            auto got = floats_of(context->output(0));
            if (expected.empty()) expected = got;
            EXPECT_EQ(got, expected);
        }
        auto caller = last_caller(one);
        EXPECT_EQ(caller == std::this_thread::get_id(), level == 0) << level;
        EXPECT_EQ(caller == last_caller(two), level == 0) << level;
    }
}

TEST(ShadowThreads, WaitMayReturnWithDevicesBusy) {
    DeviceId device = shadow_device(1, 3);
    CompileOptions options{
        .device = device, .level = 0, .comp_seq_sync_device = false, .var_sanity_check_first_run = false};
    auto context = Context::create(Program::compile(squares(), options));
    Tensor x = on(host_device, {1, 2, 3});
    context->fill_inputs({&x, 1});
    queue_of(device).wait();
    {
        HeldQueue held(device);
        context->run();
        context->wait();  // would not come back
    }
    EXPECT_THAT(floats_of(context->output(0)), ElementsAre(1, 4, 9));
}

// The shadow device's clock counts pieces of work.
TEST(ShadowClock, ProvidesFastRunTimes) {
    auto cache = FastrunCache::in_memory();
    CompileOptions options{.device = shadow_device()};
    options.select.profile = true;
    options.select.heuristic = false;
    options.select.cache = cache.get();
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {8, 32}, {}}, "x");
    builder.set_outputs({ops::softmax(
        ops::matmul(x, on(host_device, std::vector<float>(32 * 8, .5f)).with_shape({32, 8})), {.axis = 1})});
    auto program = Program::compile(builder.take(), options);
    int measured = 0;
    for (auto& step : program->steps()) {
        if (step.source != ChoiceSource::measured) continue;
        ++measured;
        EXPECT_EQ(step.milliseconds, 1) << step.op;
        EXPECT_FALSE(step.is_doubtful) << "a busy host disturbs no device";
    }
    EXPECT_GT(measured, 0);
}

TEST(PageLockedMemory, IsAllocatedByTheDevice) {
    Device &shadow = device(shadow_device()), &cpu = device(host_device);
    EXPECT_TRUE(shadow.locks_host_memory());
    EXPECT_FALSE(cpu.locks_host_memory());
    size_t before = shadow.memory().page_locked;
    {
        StorageRef memory = shadow.allocate_host(1000), plain = cpu.allocate_host(1000);
        EXPECT_EQ(shadow.memory().page_locked, before + 1000);
        EXPECT_EQ(cpu.memory().page_locked, 0u);
        std::memset(memory->data, 1, 1000);
        std::memset(plain->data, 1, 1000);
    }
    EXPECT_EQ(shadow.memory().page_locked, before);
}

}  // namespace
}  // namespace mge::test
