// SPDX-License-Identifier: Apache-2.0
// Copies of a program between the host and a GPU, beside its other work (plan.copies_beside).
// Streams that are emulated are mixed by many seeds, so an event that is missing shows in the values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/compile/program_parts.h"
#include "libmge/mge.h"
#include "tests/cuda/emulation.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

DeviceId gpu(int stream = 4) {
    DeviceId id = other_device().id;
    id.stream = uint8_t(stream);
    return id;
}

constexpr int64_t elements = 300;

Tensor numbers(int seed) {
    std::vector<double> values(static_cast<size_t>(elements));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 13) % 23 - 11) / 8;
    return make_tensor(DType::f32, {elements}, values);
}

// Moves to a device and back, layer by layer, with work on both sides and memory that is reused. The two
// devices are `there` and `here`.
Graph across(DeviceId there, DeviceId here) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor a = builder.input({DType::f32, {elements}, {}}, "a", here),
           b = builder.input({DType::f32, {elements}, {}}, "b", here);
    Tensors outputs;
    Tensor y = ops::to_device(a, {.device = there});
    for (int layer = 0; layer < 3; ++layer) {
        Tensor more = ops::to_device(ops::add(b, scalar_tensor(layer, DType::f32, here)), {.device = there});
        y = ops::tanh(ops::cumsum(ops::mul(y, more), {.axis = 0}));
        Tensor back = ops::to_device(ops::sort(y)[0], {.device = here});
        outputs.push_back(back);
        b = ops::add(ops::neg(back), b);
    }
    outputs.push_back(ops::to_device(ops::exp(y), {.device = here}));
    outputs.push_back(y);
    builder.set_outputs(outputs);
    return builder.take();
}

CompileOptions beside(bool is_on = true) {
    CompileOptions options;
    options.level = 0;
    options.var_sanity_check_first_run = false;
    options.plan.copies_beside = is_on;
    return options;
}

using Values = std::vector<std::vector<float>>;

Values values_of(const Tensors& tensors) {
    Values all;
    for (auto& tensor : tensors) all.push_back(floats_of(tensor));
    return all;
}
Values outputs_of(Context& context) {
    context.wait();
    Values all;
    for (size_t i = 0; i < context.program().outputs().size(); ++i)
        all.push_back(floats_of(context.copy_output(i)));
    return all;
}

Tensors inputs(int run) { return {numbers(run), numbers(run + 5)}; }

// The values of each run, computed with everything in one queue.
std::vector<Values> expected(int runs) {
    Executable executable(across(gpu(), host_device), beside(false));
    std::vector<Values> all;
    for (int run = 0; run < runs; ++run) all.push_back(values_of(executable.run(inputs(run))));
    return all;
}

TEST(OverlappedCopies, MatchOneQueue) {
    auto right = expected(3);
    for (int level : {0, 1}) {
        auto options = beside();
        options.async_exec_level = level;
        Executable executable(across(gpu(), host_device), options);
        for_each_mix([&](unsigned seed) {
            std::vector<Tensors> kept;
            for (int run = 0; run < 3; ++run) kept.push_back(executable.run(inputs(run)));
            for (size_t run = 0; run < 3; ++run)
                EXPECT_EQ(values_of(kept[run]), right[run])
                    << "seed " << seed << ", level " << level << ", run " << run;
        });
    }
}

// Inputs and outputs are page-locked, so copies are asynchronous. Between runs other memory is bound, an
// observer is attached, and the arenas move.
TEST(OverlappedCopies, ContextWorksAfterEveryKindOfRun) {
    auto right = expected(8);
    auto context = Context::create(Program::compile(across(gpu(), host_device), beside()));
    StepObserver silent;
    for_each_mix([&](unsigned seed) {
        for (int run = 0; run < 8; ++run) {
            Tensor given = numbers(run);
            context->fill_inputs(inputs(run));
            context->bind_input(0, run % 3 == 1 ? given.address() : nullptr);
            context->observe(run == 4 ? &silent : nullptr);
            if (run == 6) context->memory()->clear();
            context->run();
            EXPECT_EQ(outputs_of(*context), right[size_t(run)]) << "seed " << seed << ", run " << run;
        }
    });
}

// With nothing between that waits for the work.
TEST(OverlappedCopies, ContextsMayShareMemoryAndGo) {
    auto right = expected(3);
    auto options = beside();
    options.async_exec_level = 0;
    auto program = Program::compile(across(gpu(), host_device), options);
    auto memory = std::make_shared<ContextMemory>();
    for_each_mix([&](unsigned seed) {
        auto one = Context::create(program, memory);
        for (int run = 0; run < 3; ++run) {
            auto two = Context::create(program, memory);
            for (auto* context : {one.get(), two.get()}) {
                context->fill_inputs(inputs(run));
                context->run();
            }
            for (auto* context : {one.get(), two.get()})
                EXPECT_EQ(outputs_of(*context), right[size_t(run)]) << "seed " << seed << ", run " << run;
        }
    });
}

// Two inputs: the second is uploaded while work on the first is under way, and in the next run both while the
// last work is. One is handed out as it came.
Graph two_uploads() {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor a = builder.input({DType::f32, {elements}, {}}, "a", host_device),
           b = builder.input({DType::f32, {elements}, {}}, "b", host_device);
    Tensor x = ops::cumsum(ops::cumsum(ops::to_device(a, {.device = gpu()}), {.axis = 0}), {.axis = 0});
    Tensor y = ops::mul(ops::reshape(x, {.shape = {elements, 1}}), ops::to_device(b, {.device = gpu()}));
    Tensor wide = ops::neg(y);
    builder.set_outputs({ops::sum(ops::exp(ops::neg(ops::mul(wide, y))), {.axes = {1}}),
                         ops::to_device(b, {.device = gpu()})});
    return builder.take();
}

// Outputs stay on the GPU, so no run waits for one before it. The host's memory may change behind each.
TEST(OverlappedCopies, RunsFollowEachOtherAtOnce) {
    auto options = beside(false);
    options.async_exec_level = 0;
    auto off = Program::compile(two_uploads(), options);
    options.plan.copies_beside = true;
    auto on = Program::compile(two_uploads(), options);
    auto run = [](Context& context, int count) {
        std::vector<Tensors> kept;
        for (int i = 0; i < count; ++i) {
            context.fill_inputs(inputs(i));
            context.run();
            context.fill_inputs(inputs(9));
            auto& queue = queue_of(gpu());
            kept.emplace_back();
            for (auto& port : context.program().outputs()) {
                Tensor copy = empty_tensor(port.spec, gpu());
                queue.copy(copy.address(), context.value(port.value).address(), port.spec.bytes());
                kept.back().push_back(copy);
            }
        }
        std::vector<Values> values;
        for (auto& tensors : kept) values.push_back(values_of(tensors));
        return values;
    };
    auto right = run(*Context::create(off), 4);
    auto context = Context::create(on);
    // Its memory is not page-locked, so no run waits for a copy.
    Executable executable(two_uploads(), options);
    for_each_mix([&](unsigned seed) {
        EXPECT_EQ(run(*context, 4), right) << "seed " << seed;
        std::vector<Tensors> kept;
        for (int i = 0; i < 4; ++i) kept.push_back(executable.run(inputs(i)));
        for (size_t i = 0; i < 4; ++i) EXPECT_EQ(values_of(kept[i]), right[i]) << "seed " << seed;
    });
}

const LanePlan& lanes_of(const Program& program) { return program.parts().enqueue_plan.copies; }

TEST(OverlappedCopies, OptionDisablesThem) {
    auto on = Program::compile(across(gpu(), host_device), beside()),
         off = Program::compile(across(gpu(), host_device), beside(false));
    EXPECT_EQ(lanes_of(*on).copies.size(), 8U);
    EXPECT_TRUE(lanes_of(*off).copies.empty());
    EXPECT_TRUE(off->options_without_effect().empty());
}

TEST(OverlappedCopies, OnlyAccessesOfTheSameMemoryWait) {
    auto program = Program::compile(two_uploads(), beside());
    auto& plan = lanes_of(*program);
    ASSERT_EQ(plan.copies.size(), 3U);
    for (size_t i = 0; i < 2; ++i) {
        auto& copy = plan.copies[i];
        EXPECT_TRUE(copy.is_upload && !copy.is_device_shared);
        EXPECT_TRUE(plan.steps[copy.step].lane_waits.empty()) << "step " << copy.step;
        for (size_t before : plan.steps[copy.step].previous_run_waits)
            EXPECT_LT(before + 2, plan.steps.size());
    }
    EXPECT_GT(plan.copies[1].step, plan.copies[0].step + 1) << "it is asked for behind work";
}

// The host reads copied data, so earlier errors are reported there.
TEST(OverlappedCopies, FaultsAreThrownWhenTheHostReads) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {4}, {}}, "x", gpu()),
               at = builder.input({DType::i32, {2}, {}}, "at", host_device);
        Tensor y = ops::take({x, ops::to_device(at, {.device = gpu()})}, {.axes = {0}});
        builder.set_outputs({ops::to_device(y, {.device = host_device})});
    }
    Executable executable(builder.take(), beside());
    Tensor x = on(gpu(), {1, 2, 3, 4});
    auto taken = [&](std::vector<double> at) {
        return floats_of(executable.run(Tensors{x, make_tensor(DType::i32, {2}, at)})[0]);
    };
    EXPECT_THAT(taken({1, 3}), testing::ElementsAre(2, 4));
    EXPECT_THAT(error_of<UserError>([&] { taken({1, 9}); }), testing::HasSubstr("9"));
    EXPECT_THAT(taken({0, 2}), testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace mge::test
