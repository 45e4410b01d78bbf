// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libmge/mge.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

constexpr int64_t length = 1024;

// x, and sums of it, and sums of those …, each an output; as a view where `views` says so.
Graph doublings(int count, bool views = false) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {length}, {}}, "x");
    InterpreterScope scope(builder);
    Tensors outputs;
    for (int i = 0; i < count; ++i) {
        x = ops::cumsum(ops::flip(x, {.axes = {0}}), {.axis = 0});
        outputs.push_back(views ? ops::reshape(x, {.shape = {2, length / 2}}) : x);
    }
    builder.set_outputs(outputs);
    return builder.take();
}

std::unique_ptr<Context> context_of(const std::shared_ptr<const Program>& program) {
    auto context = Context::create(program);
    auto* x = static_cast<float*>(context->input(0));
    for (int64_t i = 0; i < length; ++i) x[i] = float(i % 7) / 1024;
    return context;
}

CompileOptions for_callbacks(const std::vector<size_t>& outputs) {
    CompileOptions options;
    options.callback_outputs = outputs;
    return options;
}

void expect_called_with_equal_values(bool views) {
    auto plain = Program::compile(doublings(4, views), {});
    auto reference = context_of(plain);
    reference->run();
    auto passing = Program::compile(doublings(4, views), for_callbacks({0, 1, 2}));
    EXPECT_LE(passing->memory().plan + passing->memory().inputs_outputs + length * sizeof(float),
              plain->memory().plan + plain->memory().inputs_outputs)
        << "their memory goes to later steps";
    auto context = context_of(passing);
    std::vector<size_t> order;
    for (size_t i : {2, 0, 3, 1})
        context->on_output(i, [&, i](const Tensor& output) {
            order.push_back(i);
            Tensor expected = reference->output(i), here = to_host(output);
            ASSERT_EQ(here.spec(), expected.spec());
            EXPECT_EQ(std::memcmp(here.data(), expected.data(), expected.spec().bytes()), 0) << i;
        });
    context->run();
    context->run();
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3)) << "in the order of the steps";
    EXPECT_THAT(error_of([&] { context->output(1); }), HasSubstr("output 1 is there for its callback only"));
    EXPECT_THAT(error_of([&] { context->copy_output(1); }), HasSubstr("output 1"));
    EXPECT_TRUE(context->output(3));
    context->on_output(0, nullptr);
    order.clear();
    context->run();
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(OutputCallback, ReceivesEachOutputWhenReady) { expect_called_with_equal_values(false); }
TEST(OutputCallback, ReceivesViews) { expect_called_with_equal_values(true); }

TEST(OutputCallback, TheSameValueTwiceIsTwoCalls) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {length}, {}}, "x");
    {
        InterpreterScope scope(builder);
        Tensor y = ops::exp(x);
        builder.set_outputs({y, x, y});
    }
    auto context = context_of(Program::compile(builder.take(), for_callbacks({0, 1})));
    std::vector<size_t> order;
    for (size_t i : {0, 1, 2}) context->on_output(i, [&, i](const Tensor&) { order.push_back(i); });
    context->run();
    EXPECT_THAT(order, ElementsAre(1, 0, 2)) << "an input is there from the beginning";
    EXPECT_TRUE(context->output(2)) << "one of the two stays";
}

TEST(OutputCallback, WorksWithoutAPlanAndWithRunTimeShapes) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {4}, {}}, "x");
    {
        InterpreterScope scope(builder);
        Tensor some = ops::cond_take(x, ops::greater(x, ops::full_like(x, {.value = 1})))[0];
        Tensor more = ops::exp(some);
        builder.set_outputs({some, more, ops::neg(more), ops::exp(x)});
    }
    Graph graph = builder.take();
    for (bool is_planned : {true, false}) {
        CompileOptions options = for_callbacks({0, 1, 2, 3});
        options.force_dynamic_alloc = !is_planned;
        auto context = Context::create(Program::compile(graph, options));
        float values[] = {0, 2, 1, 3};
        std::memcpy(context->input(0), values, sizeof values);
        std::vector<float> seen(4);
        for (size_t i = 0; i < 4; ++i)
            context->on_output(i, [&, i](const Tensor& output) { seen[i] = output.data<float>()[0]; });
        for (int run = 0; run < 2; ++run) {
            context->run();
            EXPECT_THAT(seen, ElementsAre(2, FloatEq(std::exp(2.F)), FloatEq(-std::exp(2.F)), 1));
        }
    }
}

TEST(OutputCallback, ErrorInsideEndsTheRun) {
    auto context = context_of(Program::compile(doublings(3), for_callbacks({0})));
    context->on_output(0, [](const Tensor&) { throw_user("callback", "enough"); });
    EXPECT_THAT(error_of([&] { context->run(); }), HasSubstr("[callback] enough"));
    context->on_output(0, nullptr);
    context->run();
}

TEST(OutputCallback, RefusesOutputsThatDoNotExist) {
    Graph graph = doublings(2);
    EXPECT_THAT(error_of([&] { Program::compile(graph, for_callbacks({2})); }),
                HasSubstr("[callback_outputs] there is no output 2; the graph has 2"));
    CompileOptions bound = for_callbacks({0});
    bound.force_output_use_user_specified_memory = true;
    EXPECT_THAT(error_of([&] { Program::compile(graph, bound); }), HasSubstr("[callback_outputs] output 0"));
    auto context = context_of(Program::compile(graph, {}));
    EXPECT_THAT(error_of([&] { context->on_output(7, [](const Tensor&) {}); }),
                HasSubstr("there is no output 7"));
}

}  // namespace
}  // namespace mge::test
