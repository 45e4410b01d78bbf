// SPDX-License-Identifier: Apache-2.0
// Optimisation levels: what each does, and that those below zero check what the passes replaced.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/graph/rewrite.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

CompileOptions at_level(int level) {
    CompileOptions o;
    o.level = level;
    o.threads = 1;
    return o;
}

size_t steps_at(const Graph& graph, int level) {
    return Program::compile(graph, at_level(level))->steps().size();
}

Tensors run(const Graph& graph, const CompileOptions& o, const Tensors& inputs) {
    return Executable(graph, o).run(inputs);
}

std::string accuracy_error(const Graph& graph, const CompileOptions& o, const Tensors& inputs) {
    try {
        run(graph, o, inputs);
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::accuracy) << e.what();
        return e.what();
    }
    return "no error";
}

// x · 1 + 0, a convolution, a ReLU.
Graph small_net() {
    return record({f32({1, 3, 8, 8})}, [](const Tensors& x) {
        Tensor y = ops::add(ops::mul(x[0], constant({1}, {1})), constant({1}, {0}));
        return Tensors{
            ops::relu(ops::conv2d(y, constant({4, 3, 3, 3}, {0.5, -1, 0.25, 1}), {.stride = {1, 1}}))};
    });
}

Graph log_of_exp() {
    return record({f32({4})}, [](const Tensors& x) { return Tensors{ops::log(ops::exp(x[0]))}; });
}

Graph log_sum() {
    return record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{ops::log(ops::add(ops::exp(x[0]), ops::exp(x[1])))};
    });
}

TEST(Level, RemovesSteps) {
    Graph graph = small_net();
    EXPECT_EQ(steps_at(graph, 0), 4u);
    EXPECT_EQ(steps_at(graph, 1), 2u);
    EXPECT_EQ(steps_at(graph, 2), 1u);
    EXPECT_LE(steps_at(graph, 3), steps_at(graph, 2));
    Tensors x{constant({1, 3, 8, 8}, {1, -2, 0.5})};
    Tensor expected = run(graph, at_level(0), x)[0];
    for (int level : {1, 2, 3, -1, -2, -3}) {
        Tensor got = run(graph, at_level(level), x)[0];
        for (int64_t i = 0; i < expected.spec().numel(); ++i)
            ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5) << level << ' ' << i;
    }
}

TEST(Level, LevelOneSimplifiesAlgebra) {
    Tensors large{constant({4}, {200, 1}), constant({4}, {200, 2})}, one{large[0]};
    EXPECT_FALSE(std::isfinite(run(log_of_exp(), at_level(0), one)[0].data<float>()[0]));
    EXPECT_FALSE(std::isfinite(run(log_sum(), at_level(0), large)[0].data<float>()[0]));
    for (int level : {1, 2, 3}) {
        EXPECT_EQ(run(log_of_exp(), at_level(level), one)[0].data<float>()[0], 200) << level;
        EXPECT_NEAR(run(log_sum(), at_level(level), large)[0].data<float>()[0], 200 + std::log(2.0), 1e-4);
    }
}

// 0 / 0 is NaN at every level.
TEST(Level, NoLevelReplacesXOverXByOne) {
    Graph quotient = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::div(x[0], x[0])}; });
    for (int level : {0, 1, 2, 3}) {
        Tensor got = run(quotient, at_level(level), {constant({4}, {0, 1, 2, 3})})[0];
        EXPECT_TRUE(std::isnan(got.data<float>()[0])) << level;
        EXPECT_EQ(got.data<float>()[1], 1) << level;
    }
}

// A level below zero reports values that the algebra changes.
TEST(CheckedLevel, FindsAlgebraicDifferences) {
    Tensors much{constant({4}, {200, 1, 2, 3})}, little{constant({4}, {1, 1, 2, 3})};
    for (int level : {-1, -2, -3}) {
        EXPECT_EQ(accuracy_error(log_of_exp(), at_level(level), much),
                  "[level] pass simplify_algebra changes the value 'log#1': element 0 is 200, and inf in "
                  "the graph without passes");
        EXPECT_EQ(accuracy_error(log_of_exp(), at_level(level), little), "no error");
        Tensors large{constant({4}, {1, 200}), constant({4}, {2, 200})};
        EXPECT_THAT(
            accuracy_error(log_sum(), at_level(level), large),
            HasSubstr("pass simplify_algebra changes the value 'log#3': element 1 is 200.693, and inf"));
    }
}

// Wrong on purpose: x + y => x - y.
Graph subtract(Graph graph, const PassOptions&) {
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        if (node.op == &ops::Add::info)
            rewrite.emit(NodeId(i), ops::Sub::info, node.params, rewrite(node.inputs), node.name);
        else
            rewrite.copy(NodeId(i));
    }
    return rewrite.finish();
}
// Wrong on purpose: every second constant of weights is doubled.
Graph double_weights(Graph graph, const PassOptions&) {
    for (size_t i = 0; i < graph.values().size(); ++i)
        if (auto& value = graph.value(ValueId(i)); value.is_constant() && value.spec.shape.rank() == 4)
            value.constant = ops::add(value.constant, value.constant);
    return graph;
}
// Wrong on purpose: outputs become zeros.
Graph forget_outputs(Graph graph, const PassOptions&) {
    std::vector<ValueId> outputs;
    for (ValueId id : graph.outputs())
        outputs.push_back(graph.add_constant(constant(graph.value(id).spec.shape, {0})));
    graph.set_outputs(std::move(outputs));
    return graph;
}
// Right: nothing changes.
Graph keep(Graph graph, const PassOptions&) { return graph; }

constexpr Pass subtracting{"subtract", 0, subtract}, doubling{"double_weights", 0, double_weights},
    forgetting{"forget_outputs", 0, forget_outputs}, keeping{"keep", 0, keep};

TEST(CheckedLevel, NamesAWrongPassAndItsValue) {
    Graph graph = record({f32({2, 2}), f32({2, 2})}, [](const Tensors& x) {
        return Tensors{ops::transpose(ops::add(x[0], x[1]), {.pattern = {1, 0}})};
    });
    graph.value(graph.node(0).outputs[0]).name = "both";
    Tensors inputs{constant({2, 2}, {1, 2, 3, 4}), constant({2, 2}, {0, 0, 5, 6})};
    CompileOptions o = at_level(-2);
    o.own_passes = {&keeping, &subtracting};
    EXPECT_EQ(accuracy_error(graph, o, inputs),
              "[level] pass subtract changes the value 'both': element 2 is -2, and 8 in the graph "
              "without "
              "passes");
    o.own_passes = {&keeping};
    EXPECT_EQ(accuracy_error(graph, o, inputs), "no error");
    o.level = 2;
    o.own_passes = {&subtracting};
    EXPECT_EQ(accuracy_error(graph, o, inputs), "no error") << "positive levels do not look";
}

// The value shows the mistake of one pass after another has rightly changed it too.
TEST(CheckedLevel, NamesTheFirstPassThatChangesTheValue) {
    Tensors x{constant({1, 3, 8, 8}, {1, -2, 0.5})};
    for (bool is_first : {true, false}) {
        CompileOptions o = at_level(-2);
        o.own_passes = {&doubling, &keeping};
        if (!is_first) std::swap(o.own_passes[0], o.own_passes[1]);
        std::string error = accuracy_error(small_net(), o, x);
        EXPECT_THAT(error, HasSubstr("pass double_weights changes the value 'relu#3'"));
    }
}

TEST(CheckedLevel, ComparesOutputsThatWereRemoved) {
    CompileOptions o = at_level(-2);
    o.own_passes = {&forgetting};
    EXPECT_EQ(accuracy_error(log_of_exp(), o, {constant({4}, {1, 1, 2, 3})}),
              "[level] pass forget_outputs changes the value 'log#1': element 0 is 0, and 1 in the graph "
              "without passes");
}

// A pass may move steps of a byte instead of the real numbers that they stand for: other values, although
// their operators do the work of the same ones.
TEST(CheckedLevel, ComparesStepsWithStepsOnly) {
    Graph graph = record({f32({1, 4, 6, 6})}, [](const Tensors& x) {
        Tensor scale = constant({}, {0.1f}), other = constant({}, {0.3f});
        Tensor y = ops::dequantize(ops::quantize(x[0], scale), scale);
        y = ops::reshape(ops::transpose(y, {.pattern = {0, 2, 3, 1}}), {.shape = {36, 4}});
        Tensor z = ops::dequantize(ops::quantize(ops::transpose(y, {.pattern = {1, 0}}), other), other);
        return Tensors{y, ops::relu(z), ops::split(z, {.axis = 0, .sizes = {1, 3}})[1]};
    });
    for (int level : {-1, -2, -3})
        EXPECT_EQ(accuracy_error(graph, at_level(level), {constant({1, 4, 6, 6}, {1, -2, 0.5, 3, 7})}),
                  "no error");
}

TEST(CheckedLevel, ReportsComparedValues) {
    auto program = Program::compile(small_net(), at_level(-2));
    ASSERT_EQ(program->replaced().size(), 1u);
    EXPECT_EQ(program->replaced()[0].name, "relu#3");
    EXPECT_THAT(program->replaced()[0].passes, Contains("fuse_activation"));
    EXPECT_TRUE(Program::compile(small_net(), at_level(2))->replaced().empty());
    EXPECT_TRUE(Program::compile(log_of_exp(), at_level(0))->replaced().empty());
    auto again = Program::compile(log_of_exp(), at_level(-1));
    ASSERT_EQ(again->replaced().size(), 1u);
    EXPECT_THAT(again->replaced()[0].passes, ElementsAre("simplify_algebra"));
}

// Every run is checked, and observers are called as well.
TEST(CheckedLevel, ChecksEachRunWithAnObserver) {
    class Counter : public StepObserver {
    public:
        void before_step(size_t, Context&) override { ++before; }
        void after_step(size_t, Context&) override { ++after; }
        int before = 0, after = 0;
    };
    Graph graph =
        record({f32({4})}, [](const Tensors& x) { return Tensors{ops::neg(ops::log(ops::exp(x[0])))}; });
    auto context = Context::create(Program::compile(graph, at_level(-2)));
    Counter counter;
    context->observe(&counter);
    auto* x = static_cast<float*>(context->input(0));
    std::fill_n(x, 4, 3.f);
    context->run();
    context->run();
    EXPECT_EQ(counter.before, 2);
    EXPECT_EQ(counter.after, 2);
    x[3] = 200;
    EXPECT_THROW(context->run(), Error);
    context->observe(nullptr);
    EXPECT_THROW(context->run(), Error);
    x[3] = 1;
    context->run();
}

}  // namespace
}  // namespace mge::test
