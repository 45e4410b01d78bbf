// SPDX-License-Identifier: Apache-2.0
// Operators that write over what others read as well come behind those others, unless no_force_inplace.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/optimize/sgd_step.h"
#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

constexpr int64_t left_out = INT64_MIN;

CompileOptions plain(bool no_force_inplace = false) {
    CompileOptions o = options(0);
    o.no_force_inplace = no_force_inplace;
    return o;
}

Tensor with_first_row(const Tensor& x, const Tensor& row) {
    return ops::set_slice(Tensors{x, row}, {.items = {0, 0, 1, left_out, 0}});
}

std::vector<std::string> steps_of(const std::shared_ptr<const Program>& program) {
    std::vector<std::string> names;
    for (auto& step : program->steps()) names.push_back(step.op);
    return names;
}

const StepReport& step_of(const Program& program, std::string_view op) {
    return *std::ranges::find(program.steps(), op, &StepReport::op);
}

// True if the result of an operator reuses the memory of its operand.
bool is_in_place(const Program& program, std::string_view op, size_t operand = 0, size_t result = 0) {
    auto& step = step_of(program, op);
    auto &from = program.values()[size_t(step.inputs[operand])],
         &to = program.values()[size_t(step.outputs[result])];
    return from.place == to.place && from.offset == to.offset && from.last >= to.last;
}

// A row of exp(x) is set before tanh reads the old values.
Graph set_and_read() {
    return record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        Tensor changed = ops::sin(with_first_row(h, x[1]));
        return Tensors{ops::add(changed, ops::tanh(h))};
    });
}

TEST(WriteLast, UpdateWaitsForOtherReaders) {
    auto forced = Program::compile(set_and_read(), plain());
    EXPECT_THAT(steps_of(forced), ElementsAre("exp", "tanh", "set_slice", "sin", "add"));
    EXPECT_TRUE(is_in_place(*forced, "set_slice"));
    auto free = Program::compile(set_and_read(), plain(true));
    EXPECT_THAT(steps_of(free), ElementsAre("exp", "set_slice", "sin", "tanh", "add"));
    EXPECT_FALSE(is_in_place(*free, "set_slice"));
    EXPECT_LE(forced->memory().plan, free->memory().plan);
    Tensors inputs{ramp({64, 64}), ramp({1, 64}, 5)};
    expect_near(run(set_and_read(), plain(), inputs)[0], run(set_and_read(), plain(true), inputs)[0]);
}

TEST(WriteLast, ReadersThroughViewsCountAsWell) {
    Graph graph = record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        Tensor changed = with_first_row(h, x[1]);
        Tensor row = ops::slice(Tensors{h}, {.items = {0, 0, 1, left_out, 0}});
        return Tensors{ops::add(ops::sin(changed), ops::tanh(row))};
    });
    auto program = Program::compile(graph, plain());
    EXPECT_THAT(steps_of(program), ElementsAre("exp", "tanh", "set_slice", "sin", "add"));
    EXPECT_TRUE(is_in_place(*program, "set_slice"));
    Tensors inputs{ramp({64, 64}), ramp({1, 64}, 5)};
    expect_near(run(graph, plain(), inputs)[0], run(graph, plain(true), inputs)[0]);
}

// Parameter and velocity are overwritten, and both have readers behind the step.
TEST(WriteLast, AnOptimizersStepIsAnUpdate) {
    Graph graph = record({f32({64, 64}), f32({64, 64})}, [](const Tensors& x) {
        Tensor param = ops::exp(x[0]), velocity = ops::sin(x[0]);
        Tensors next = ops::sgd_step(param, x[1], velocity, constant({1}, {0.5f}), {.momentum = 0.9});
        return Tensors{ops::add(next[0], next[1]), ops::add(ops::sum(param), ops::sum(velocity))};
    });
    auto program = Program::compile(graph, plain());
    EXPECT_TRUE(is_in_place(*program, "sgd_step", 0, 0));
    EXPECT_TRUE(is_in_place(*program, "sgd_step", 2, 1));
    EXPECT_FALSE(is_in_place(*Program::compile(graph, plain(true)), "sgd_step"));
    Tensors inputs{ramp({64, 64}), ramp({64, 64}, 5)};
    auto got = run(graph, plain(), inputs), expected = run(graph, plain(true), inputs);
    for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i]);
}

// The order stays as it was written.
void expect_unmoved(const Graph& graph, CompileOptions o = plain()) {
    EXPECT_EQ(steps_of(Program::compile(graph, o)), steps_of(Program::compile(graph, plain(true))));
}

TEST(WriteLast, ReadersOfTheResultComeLater) {
    expect_unmoved(record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        return Tensors{ops::mul(h, ops::sin(with_first_row(h, x[1])))};
    }));
}

TEST(WriteLast, InputsConstantsAndOutputsAreNotOverwritten) {
    expect_unmoved(record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        return Tensors{ops::add(ops::sin(with_first_row(x[0], x[1])), ops::tanh(x[0]))};
    }));
    expect_unmoved(record({f32({1, 64})}, [](const Tensors& x) {
        Tensor c = ramp({64, 64});
        return Tensors{ops::add(ops::sin(with_first_row(c, x[0])), ops::tanh(c))};
    }));
    expect_unmoved(record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        return Tensors{ops::add(ops::sin(with_first_row(h, x[1])), ops::tanh(h)), h};
    }));
}

TEST(WriteLast, OneOfTwoUpdatesIsInPlace) {
    Graph graph = record({f32({64, 64}), f32({1, 64})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        Tensor a = with_first_row(h, x[1]);
        Tensor b = ops::add_slice(Tensors{h, x[1]}, {.items = {0, 0, 1, left_out, 0}});
        return Tensors{ops::add(ops::sin(a), ops::sin(b))};
    });
    expect_unmoved(graph);
    EXPECT_TRUE(is_in_place(*Program::compile(graph, plain()), "add_slice"));
}

// Other operands of the update would have to stay alive, which raises the peak.
TEST(WriteLast, APeakDoesNotRise) {
    Graph graph = record({f32({64, 64}), f32({64, 1024}), f32({64, 2048})}, [](const Tensors& x) {
        Tensor h = ops::exp(x[0]);
        Tensor product = ops::matmul(ops::exp(x[1]), ramp({1024, 64}), {}, h);
        Tensor sum = ops::sum(ops::exp(x[2]));
        return Tensors{ops::add(ops::sin(product), ops::add(h, sum))};
    });
    expect_unmoved(graph);
}

TEST(WriteLast, NeedsAPlanThatOverwrites) {
    CompileOptions o = plain();
    o.plan.in_place = false;
    expect_unmoved(set_and_read(), o);
    o = plain();
    o.force_dynamic_alloc = true;
    expect_unmoved(set_and_read(), o);
}

TEST(NoForceInplace, IsListedWithoutEffect) {
    auto ignored = [](const Graph& graph) {
        std::vector<std::string> options;
        CompileOptions o = plain(true);
        o.log_level = 0;
        auto program = Program::compile(graph, o);
        for (auto& option : program->options_without_effect()) options.push_back(option.option);
        return options;
    };
    EXPECT_THAT(ignored(set_and_read()), testing::IsEmpty());
    EXPECT_THAT(ignored(conv_net()), ElementsAre("no_force_inplace"));
}

}  // namespace
}  // namespace mge::test
