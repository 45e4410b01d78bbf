// SPDX-License-Identifier: Apache-2.0
// The output of MGE_LOG for a compilation at each log_level. The channels are read once per process, so each
// level has a process of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

[[noreturn]] void compile_and_exit(const Graph& graph, int level) {
    CompileOptions o;
    o.log_level = level;
    Program::compile(graph, o);
    std::fprintf(stderr, "compiled\n");
    std::exit(0);
}

Graph two_equal_products() {
    return record({f32({2, 3})}, [](const Tensors& x) {
        Tensor y = ops::matmul(x[0], constant({3, 4}, {1, 2}));
        Tensor again = ops::matmul(x[0], constant({3, 4}, {1, 2}));
        return Tensors{ops::relu(ops::add(y, again))};
    });
}

TEST(LogLevel, LogsNothingASummaryOrEachReplacement) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ASSERT_EQ(::setenv("MGE_LOG", "passes,memory", 1), 0);
    EXPECT_EXIT(compile_and_exit(two_equal_products(), 0), ::testing::ExitedWithCode(0), "^compiled\n$");
    EXPECT_EXIT(compile_and_exit(two_equal_products(), 1), ::testing::ExitedWithCode(0),
                AllOf(HasSubstr("[memory] plan "), HasSubstr("lower bound"),
                      HasSubstr("[passes] merge_duplicates: "), HasSubstr(" -> "), Not(HasSubstr("matmul"))));
    EXPECT_EXIT(compile_and_exit(two_equal_products(), 2), ::testing::ExitedWithCode(0),
                AllOf(HasSubstr("[memory] plan "),
                      HasSubstr("merge_duplicates: matmul 'matmul#1' -> matmul 'matmul#0+matmul#1'"),
                      HasSubstr("relu 'relu#3' -> fused_elementwise 'add#2+relu#3'")));
    ::unsetenv("MGE_LOG");
}

Graph loop() {
    auto body = make_subgraph(TensorSpecs{f32({2, 3})}, [](std::span<const Tensor> in) -> Tensors {
        return {ops::relu(ops::add(in[0], constant({3}, {1, 2, 3})))};
    });
    return record({f32({2, 3})}, [&](const Tensors& x) {
        return ops::scan({x[0]}, {.body = body, .carried = 1, .length = 2});
    });
}

TEST(LogLevel, AppliesToInnerGraphs) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ASSERT_EQ(::setenv("MGE_LOG", "passes", 1), 0);
    EXPECT_EXIT(compile_and_exit(loop(), 0), ::testing::ExitedWithCode(0), "^compiled\n$");
    EXPECT_EXIT(compile_and_exit(loop(), 2), ::testing::ExitedWithCode(0), HasSubstr("-> fused_elementwise"));
    ::unsetenv("MGE_LOG");
}

[[noreturn]] void recompute_and_exit(int level) {
    Graph graph = record({f32({64, 64})}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 12; ++i) y = ops::tanh(y);
        return Tensors{ops::sum(y)};
    });
    ValueId loss = graph.outputs()[0], one = graph.add_constant(scalar_tensor(1, DType::f32));
    graph.set_outputs(add_gradient(graph, {loss}, {one}, {graph.inputs()[0]}));
    CompileOptions o;
    o.switches.fuse_elementwise = 0;
    o.log_level = level;
    o.recompute.lowers_peak = true;
    Program::compile(graph, o);
    std::exit(0);
}

TEST(LogLevel, ListsTheThresholdsOfRecomputation) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ASSERT_EQ(::setenv("MGE_LOG", "memory", 1), 0);
    EXPECT_EXIT(recompute_and_exit(1), ::testing::ExitedWithCode(0),
                AllOf(HasSubstr("[memory] recomputation: "), Not(HasSubstr("threshold"))));
    EXPECT_EXIT(recompute_and_exit(2), ::testing::ExitedWithCode(0),
                HasSubstr("[memory] recomputation: threshold "));
    ::unsetenv("MGE_LOG");
}

TEST(LogLevel, HasThreeLevels) {
    CompileOptions o;
    o.log_level = 3;
    EXPECT_THROW(check(o), UserError);
}

}  // namespace
}  // namespace mge::test
