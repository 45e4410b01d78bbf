// SPDX-License-Identifier: Apache-2.0
// Options that change how programs plan memory, run and take shapes.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

// Eight elementwise steps and a sum.
Graph chain() {
    return record({f32({256, 1024})}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 8; ++i) y = i % 2 ? ops::exp(y) : ops::sin(y);
        return Tensors{ops::sum(y)};
    });
}

TEST(PlanOptions, PlanMemory) {
    constexpr size_t tensor = 1 << 20, slack = 1 << 16;  // slack: the sum's workspace
    auto plan = [](bool overwrites, bool reuses) {
        CompileOptions o = options(2);
        o.plan.in_place = overwrites;
        o.plan.reuse = reuses;
        return Program::compile(chain(), o)->memory();
    };
    EXPECT_NEAR(double(plan(true, true).plan), double(tensor), slack);
    EXPECT_NEAR(double(plan(false, true).plan), double(2 * tensor), slack);
    EXPECT_NEAR(double(plan(false, false).plan), double(8 * tensor), slack);
    for (bool reuses : {false, true})
        EXPECT_GE(plan(false, reuses).plan, plan(false, reuses).plan_lower_bound);
    CompileOptions none = options(2);
    none.plan = {.in_place = false, .reuse = false};
    Tensors x{ramp({256, 1024}, 3)};
    EXPECT_EQ(*run(chain(), none, x)[0].data<float>(), *run(chain(), options(2), x)[0].data<float>());
}

TEST(FakeNextExec, ComputesNothingOnce) {
    CompileOptions o = options(2);
    o.fake_next_exec = true;
    auto context = Context::create(Program::compile(chain(), o));
    Tensor x = ramp({256, 1024}, 3);
    std::memcpy(context->input(0), x.data(), x.spec().bytes());
    context->run();
    EXPECT_EQ(*context->output(0).data<float>(), 0);
    context->run();
    EXPECT_EQ(*context->output(0).data<float>(), *run(chain(), options(2), {x})[0].data<float>());
}

Tensor exponentials(Executable& executable, int64_t rows) {
    return executable.run(Tensors{ramp({rows, 8})})[0];
}

TEST(FakeNextExec, RunsOnceForAllShapes) {
    Graph graph = record({f32({2, 8})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    auto first = [](const Tensor& t) { return *t.data<float>(); };
    float expected = std::exp(first(ramp({1})));
    CompileOptions o = options(2);
    o.fake_next_exec = true;
    Executable executable(graph, o);
    EXPECT_EQ(first(exponentials(executable, 2)), 0);
    EXPECT_NEAR(first(exponentials(executable, 2)), expected, 1e-6);
    EXPECT_NEAR(first(exponentials(executable, 3)), expected, 1e-6)
        << "the first run of a shape computes as well";
    Tensor kept = exponentials(executable, 2);
    executable.fake_next_exec();
    EXPECT_EQ(first(exponentials(executable, 3)), 0) << "set for a later run";
    EXPECT_NEAR(first(exponentials(executable, 3)), expected, 1e-6);
    executable.fake_next_exec();
    exponentials(executable, 4);
    EXPECT_NEAR(first(exponentials(executable, 4)), expected, 1e-6) << "it was a run of a new shape";
    EXPECT_NEAR(first(kept), expected, 1e-6) << "no run writes to what another has given";
}

TEST(FakeNextExec, ReturnsInputsWithoutDynamicShapes) {
    Graph graph = record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{x[0], ops::cond_take(x[0], ops::greater(x[0], x[1]))[0]};
    });
    Executable executable(graph, options(2));
    Tensors x{constant({4}, {1, 2, 3, 4}), constant({4}, {0, 9, 0, 0})};
    EXPECT_EQ(executable.run(x)[1].spec().numel(), 3);
    executable.fake_next_exec();
    Tensors outputs = executable.run(x);
    EXPECT_EQ(outputs[0].data(), x[0].data());
    EXPECT_FALSE(outputs[1]);
    EXPECT_EQ(executable.run(x)[1].spec().numel(), 3);
}

TEST(FakeNextExec, IsSetForALaterRunOfAContext) {
    Graph graph = record({f32({1})}, [](const Tensors& x) { return Tensors{ops::neg(x[0])}; });
    auto context = Context::create(Program::compile(graph, options(2)));
    auto result = [&](float x) {
        context->fill_inputs(Tensors{constant({1}, {x})});
        context->run();
        return *context->output(0).data<float>();
    };
    EXPECT_EQ(result(3), -3);
    context->fake_next_exec();
    EXPECT_EQ(result(4), -3) << "as the last run left it";
    EXPECT_EQ(result(4), -4);
    CompileOptions recorded = options(2);
    recorded.comp_node_seq_record_level = 2;
    recorded.var_sanity_check_first_run = false;
    Executable executable(chain(), recorded);
    expect_refused([&] { executable.fake_next_exec(); }, "contradicts fake_next_exec");
}

TEST(ConstShape, RefusesOtherShapes) {
    CompileOptions o = options(2);
    o.const_shape = true;
    Executable executable(conv_net(), o);
    executable.run(Tensors{ramp({2, 16, 12, 12})});
    expect_refused([&] { executable.run(Tensors{ramp({3, 16, 12, 12})}); }, "const_shape");
}

TEST(RecordLevel, TwoReleasesTheGraph) {
    CompileOptions o = options(2);
    o.comp_node_seq_record_level = 2;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts var_sanity_check_first_run");
    o.var_sanity_check_first_run = false;
    Tensors x{ramp({2, 16, 12, 12}, 5)};
    expect_near(run(conv_net(), o, x)[0], run(conv_net(), options(2), x)[0]);
    o.fake_next_exec = true;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts fake_next_exec");
    o.fake_next_exec = false;
    o.force_dynamic_alloc = true;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts force_dynamic_alloc");
    o.force_dynamic_alloc = false;
    Graph dynamic = record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{ops::cond_take(x[0], ops::greater(x[0], x[1]))[0]};
    });
    expect_refused([&] { Program::compile(dynamic, o); }, "2 needs fixed shapes");
    o.comp_node_seq_record_level = 1;
    EXPECT_EQ(Program::compile(dynamic, o)->steps().empty(), false);
}

TEST(RecordLevel, TwoFixesTheShapesOfAnExecutable) {
    CompileOptions o = options(2);
    o.var_sanity_check_first_run = false;
    Tensors small{ramp({2, 16, 12, 12}, 5)}, large{ramp({4, 16, 12, 12}, 5)};
    Executable free(conv_net(), o);
    free.run(small);
    free.run(large);
    o.comp_node_seq_record_level = 2;
    Executable fixed(conv_net(), o);
    fixed.run(small);
    expect_refused([&] { fixed.run(large); }, "2 has fixed the shapes: input '");
    fixed.run(small);
}

}  // namespace
}  // namespace mge::test
