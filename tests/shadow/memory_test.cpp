// SPDX-License-Identifier: Apache-2.0
// The memory of contexts on a device that the host cannot read and that works late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

// (((x + x) * (x + x)) …) of so many steps.
Graph chain(int steps) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor y = builder.input({DType::f32, {1024}, {}}, "x");
    for (int i = 0; i < steps; ++i) y = i % 2 ? ops::sin(y) : ops::add(y, y);
    builder.set_outputs({y});
    return builder.take();
}

CompileOptions there(DeviceId device) {
    return {.device = device, .level = 0, .plan = {.in_place = false}, .var_sanity_check_first_run = false};
}

std::vector<float> run(Context& context, float value) {
    Tensor x = on(host_device, std::vector<float>(1024, value));
    context.fill_inputs({&x, 1});
    context.run();
    context.wait();
    return floats_of(context.output(0));
}

TEST(ShadowMemoryServices, ContextsShareOneArena) {
    DeviceId device = shadow_device(0, 1);
    auto memory = std::make_shared<ContextMemory>();
    auto small = Context::create(Program::compile(chain(3), there(device)), memory);
    auto expected = run(*small, .5f);
    auto large = Context::create(Program::compile(chain(8), there(device)), memory);
    auto of_large = run(*large, .25f);
    for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(run(*small, .5f), expected);
        EXPECT_EQ(run(*large, .25f), of_large);
    }
    EXPECT_EQ(memory->bytes(device), large->program().memory().plan);
    EXPECT_EQ(memory->clear(), 2u);
    EXPECT_EQ(memory->bytes(), 0u);
    EXPECT_EQ(run(*small, .5f), expected);
}

// The arena is let go while the device is still at work in it.
TEST(ShadowMemoryServices, ClearedMemoryIsReleasedInQueueOrder) {
    DeviceId device = shadow_device(0, 1);
    auto context = Context::create(Program::compile(chain(8), there(device)));
    auto expected = run(*context, .5f);
    for (int round = 0; round < 10; ++round) {
        context->run();
        context->memory()->clear();
        Tensor taken = on(device, std::vector<float>(4096, -1));
        context->wait();
        EXPECT_EQ(floats_of(context->output(0)), expected);
    }
}

TEST(ShadowMemoryServices, OutputsUseCallerMemory) {
    DeviceId device = shadow_device(1, 0);
    CompileOptions options = there(device);
    options.force_output_use_user_specified_memory = true;
    auto context = Context::create(Program::compile(chain(2), options));
    Tensor memory = on(device, std::vector<float>(1024, 0));
    context->bind_output(0, memory.address(), 4096);
    EXPECT_EQ(run(*context, .5f), std::vector<float>(1024, std::sin(1.f)));
    EXPECT_EQ(context->output(0).address(), memory.address());
    EXPECT_EQ(floats_of(memory)[7], std::sin(1.f));
}

TEST(ShadowMemoryServices, UpdatesReuseUnsharedMemory) {
    Tensor x = on(shadow_device(), {1, 2, 3, 4}), value = on(shadow_device(), {9});
    const void* before = x.address();
    ops::Slice::Params params{.items = {0, 1, 2, 1, 0}};
    auto assign = [&] {
        Tensor inputs[] = {std::move(x), value};
        x = update(ops::SetSlice::info, &params, inputs).at(0);
    };
    assign();
    EXPECT_EQ(x.address(), before);
    EXPECT_THAT(floats_of(x), ElementsAre(1, 9, 3, 4));
    Tensor held = x.with_shape({2, 2});
    value = on(shadow_device(), {7});
    assign();
    EXPECT_NE(x.address(), before);
    EXPECT_THAT(floats_of(x), ElementsAre(1, 7, 3, 4));
    EXPECT_THAT(floats_of(held), ElementsAre(1, 9, 3, 4));
}

// A value that is read again at the end, and a wide stretch between: x, then exp(x) beside its sum.
Graph valley(int64_t elements) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor early = ops::sin(builder.input({DType::f32, {elements}, {}}, "x"));
    Tensor wide = ops::concat(Tensors{ops::exp(early), ops::neg(early)}, {.axis = 0});
    Tensor narrow = ops::sum(ops::cos(wide), {.axes = {0}, .keepdims = true});
    builder.set_outputs({ops::mul(early, narrow)});
    return builder.take();
}

TEST(ShadowMemoryServices, ValuesThatWaitGoToTheHost) {
    constexpr int64_t elements = 1 << 19;
    constexpr size_t bytes = elements * sizeof(float);
    CompileOptions o = there(shadow_device(0, 1));
    auto stays = Program::compile(valley(elements), o);
    o.enable_memory_swap = o.verify_passes = true;
    auto goes = Program::compile(valley(elements), o);
    EXPECT_EQ(goes->memory().swapped_values, 1u);
    EXPECT_TRUE(goes->options_without_effect().empty());
    std::vector<float> x(elements);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 97) / 97;
    auto result_of = [&](const std::shared_ptr<const Program>& program, ContextMemory& memory) {
        auto context =
            Context::create(program, std::shared_ptr<ContextMemory>(std::shared_ptr<void>(), &memory));
        Tensor input = on(host_device, x);
        for (int i = 0; i < 3; ++i) {
            context->fill_inputs({&input, 1});
            context->run();
        }
        context->wait();
        return floats_of(context->output(0));
    };
    ContextMemory full, less;
    EXPECT_EQ(result_of(goes, less), result_of(stays, full));
    EXPECT_EQ(full.bytes(o.device) - less.bytes(o.device), bytes);
}

TEST(ShadowMemoryServices, SmallValuesDoNotTravel) {
    CompileOptions o = there(shadow_device(0, 1));
    o.enable_memory_swap = true;
    o.log_level = 0;
    auto program = Program::compile(valley(1 << 10), o);
    ASSERT_EQ(program->options_without_effect().size(), 1u);
    EXPECT_EQ(program->options_without_effect()[0].reason,
              "no large value waits while its device is fullest");
}

}  // namespace
}  // namespace mge::test
