// SPDX-License-Identifier: Apache-2.0
// Training graphs whose values are given up and computed again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "libmge/mge.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/random/dropout.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::HasSubstr;

constexpr int64_t rows = 512, columns = 32;
constexpr size_t layer_bytes = rows * columns * 4;

Tensor ramp(const Shape& shape, int seed = 1) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 60;
    return constant(shape, values);
}

using Layer = std::function<Tensor(const Tensor& x, const Tensor& weight, int index)>;

Tensor tanh_layer(const Tensor& x, const Tensor& weight, int) { return ops::tanh(ops::matmul(x, weight)); }

// The loss of a chain of layers, and its gradient for the weight of each.
Graph training(int layers, const Layer& layer = tanh_layer) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({rows, columns}), "x");
    std::vector<ValueId> weights;
    Tensors symbols;
    for (int i = 0; i < layers; ++i) {
        symbols.push_back(builder.input(f32({columns, columns}), text("w", i)));
        weights.push_back(builder.value_of(symbols.back()));
    }
    {
        InterpreterScope scope(builder);
        for (int i = 0; i < layers; ++i) x = layer(x, symbols[size_t(i)], i);
        builder.set_outputs({ops::sum(ops::mul(x, x))});
    }
    Graph graph = builder.take();
    ValueId loss = graph.outputs()[0];
    ValueId one = graph.add_constant(scalar_tensor(1, DType::f32));
    std::vector<ValueId> outputs{loss};
    for (ValueId id : add_gradient(graph, {loss}, {one}, weights)) outputs.push_back(id);
    graph.set_outputs(outputs);
    return graph;
}

CompileOptions saving(bool on) {
    CompileOptions o;
    o.threads = 1;
    o.verify_passes = true;
    o.recompute.lowers_peak = on;
    return o;
}

Tensors run(const Graph& graph, const CompileOptions& options) {
    Tensors inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        inputs.push_back(ramp(graph.value(graph.inputs()[i]).spec.shape, int(i)));
    return Executable(graph, options).run(inputs);
}

void expect_equal(const Tensors& got, const Tensors& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].spec(), expected[i].spec());
        EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(), got[i].spec().bytes()), 0) << "output " << i;
    }
}

std::map<std::string, int> repeated_operators(const Program& program) {
    std::map<std::string, int> counts;
    for (auto& step : program.steps())
        if (step.is_repeated) ++counts[step.op];
    return counts;
}

size_t plan_of(const Graph& graph, const CompileOptions& options) {
    return Program::compile(graph, options)->memory().plan;
}

TEST(Recomputation, UsesAThirdOfTheMemoryForAThirdMoreWork) {
    Graph graph = training(64);
    auto plain = Program::compile(graph, saving(false)), less = Program::compile(graph, saving(true));
    EXPECT_GE(plain->memory().plan, 64 * layer_bytes);
    EXPECT_LE(double(less->memory().plan), 0.34 * double(plain->memory().plan));
    EXPECT_LE(double(less->steps().size()), 1.35 * double(plain->steps().size()));
    auto products = [](const Program& program) {
        return double(std::ranges::count_if(program.steps(), [](auto& s) { return s.op == "matmul"; }));
    };
    EXPECT_LE(products(*less), 1.35 * products(*plain));
    EXPECT_TRUE(repeated_operators(*plain).empty());
    EXPECT_FALSE(repeated_operators(*less).empty());
    for (auto& step : less->steps())
        EXPECT_TRUE(!step.is_repeated || !step.sources.empty()) << "it tells whose work it does";
    expect_equal(run(graph, saving(true)), run(graph, saving(false)));
}

TEST(Recomputation, BranchesAndViewsStayRight) {
    // A sum over two layers, a reshape, and a value that is a result as well.
    auto layer = [](const Tensor& x, const Tensor& weight, int i) {
        Tensor y = ops::tanh(ops::matmul(x, weight));
        if (i % 3 == 1) y = ops::add(ops::sigmoid(y), x);
        if (i % 4 == 2)
            y = ops::reshape(ops::exp(ops::reshape(ops::neg(ops::abs(y)), {.shape = {-1}})),
                             {.shape = {rows, columns}});
        return y;
    };
    Graph graph = training(30, layer);
    auto outputs = graph.outputs();
    for (auto& node : graph.nodes())
        if (node.op->name == "sigmoid") {
            outputs.push_back(node.outputs[0]);
            break;
        }
    graph.set_outputs(outputs);
    EXPECT_LT(double(plan_of(graph, saving(true))), 0.6 * double(plan_of(graph, saving(false))));
    expect_equal(run(graph, saving(true)), run(graph, saving(false)));
}

TEST(Recomputation, RandomAndStatefulOperatorsRunOnce) {
    auto layer = [](const Tensor& x, const Tensor& weight, int i) {
        Tensor y = ops::tanh(ops::matmul(x, weight));
        int32_t seed[] = {i, 7};
        if (i % 2)
            y = ops::dropout(y, tensor_from_host({DType::i32, {2}, {}}, seed), {.probability = 0.1})[0];
        return y;
    };
    Graph graph = training(24, layer);
    auto less = Program::compile(graph, saving(true));
    auto repeated = repeated_operators(*less);
    EXPECT_GT(repeated["matmul"], 0);
    EXPECT_EQ(repeated.count("dropout"), 0u);
    EXPECT_LT(less->memory().plan, plan_of(graph, saving(false)));
    expect_equal(run(graph, saving(true)), run(graph, saving(false)));
    const std::set<std::string_view> once{"adadelta_step", "adagrad_step", "adam_step",   "batch_norm",
                                          "beta",          "dropout",      "gamma",       "lamb_step",
                                          "multinomial",   "normal",       "permutation", "poisson",
                                          "sgd_step",      "uniform",      "wait_for"};
    for (auto* op : all_ops()) {
        bool expected = once.contains(op->name);
        EXPECT_EQ(op->traits.once, expected) << op->name;
    }
}

TEST(Recomputation, RunTimeShapesAndEmptyGraphsWork) {
    Graph empty;
    EXPECT_NO_THROW(Program::compile(empty, saving(true)));
    Graph through = record({f32({2})}, [](const Tensors& x) { return x; });
    expect_equal(run(through, saving(true)), run(through, saving(false)));
    Graph dynamic = record({f32({300}), f32({300})}, [](const Tensors& x) {
        Tensor y = ops::tanh(x[0]);
        Tensor taken = ops::cond_take(y, ops::greater(x[0], x[1]))[0];
        Tensor z = ops::exp(y);
        for (int i = 0; i < 6; ++i) z = ops::tanh(ops::mul(z, y));
        return Tensors{ops::sum(ops::exp(taken)), ops::sum(ops::mul(z, x[1]))};
    });
    expect_equal(run(dynamic, saving(true)), run(dynamic, saving(false)));
}

TEST(Recomputation, MoreIterationsAreNeverWorse) {
    Graph graph = training(40, [](const Tensor& x, const Tensor& weight, int i) {
        Tensor y = ops::tanh(ops::matmul(x, weight));
        // Layers of different sizes.
        return i % 5 == 2 ? ops::mul(ops::exp(ops::neg(y)), ops::sigmoid(y)) : y;
    });
    size_t last = plan_of(graph, saving(false));
    for (int tries : {0, 1, 10}) {
        CompileOptions o = saving(true);
        o.recompute.tries = tries;
        size_t plan = plan_of(graph, o);
        EXPECT_LE(plan, last) << tries;
        last = plan;
    }
    CompileOptions genetic = saving(true);
    genetic.recompute.rounds = 20;
    genetic.recompute.workers = 1;
    size_t bred = plan_of(graph, genetic);
    EXPECT_LE(bred, last);
    EXPECT_EQ(plan_of(graph, genetic), bred) << "the same numbers are drawn";
    genetic.recompute.workers = 4;
    EXPECT_EQ(plan_of(graph, genetic), bred) << "whoever simulates";
    expect_equal(run(graph, genetic), run(graph, saving(false)));
}

TEST(Recomputation, StopsAtTheBound) {
    // One value of 1 MiB per layer.
    Graph graph = training(24, [](const Tensor& x, const Tensor& weight, int i) {
        if (i > 0) return ops::tanh(ops::mul(x, ops::sum(weight)));
        return ops::tanh(ops::add(ops::reshape(ops::matmul(x, weight), {.shape = {rows, 1, columns}}),
                                  constant({1, 16, 1}, {0.1f, 0.2f})));
    });
    size_t full = Program::compile(graph, saving(false))->memory().plan_lower_bound >> 20;
    ASSERT_GE(full, 20u);
    auto repeated = [&](size_t bound) {
        CompileOptions o = saving(true);
        o.recompute.least_peak = bound;
        auto program = Program::compile(graph, o);
        EXPECT_LE(program->memory().plan_lower_bound,
                  std::max(bound << 20, program->memory().plan_lower_bound));
        return program->memory().repeated_segments;
    };
    EXPECT_EQ(repeated(full + 1), 0u);
    EXPECT_EQ(repeated(full - 1), 1u);
    EXPECT_GT(repeated(0), 1u);
}

TEST(Recomputation, CutsAfterEndpointsOnly) {
    Graph graph = record({f32({rows, columns})}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 32; ++i) y = i % 2 ? ops::sin(y) : ops::tanh(y);
        return Tensors{ops::sum(ops::mul(y, y))};
    });
    std::vector<NodeId> chain;
    for (size_t i = 0; i < 32; ++i) {
        graph.node(NodeId(i)).name = text("layer", i + 1);
        chain.push_back(NodeId(i));
    }
    ValueId loss = graph.outputs()[0];
    ValueId one = graph.add_constant(scalar_tensor(1, DType::f32));
    auto grads = add_gradient(graph, {loss}, {one}, {graph.inputs()[0]});
    graph.set_outputs({loss, grads[0]});
    CompileOptions o = saving(true);
    o.switches.fuse_elementwise = 0;
    o.recompute.endpoints = {"layer8", "layer16", "layer24"};
    auto program = Program::compile(graph, o);
    // By segment, the first layer that runs again.
    std::map<int, int> first;
    for (auto& step : program->steps()) {
        if (!step.is_repeated) continue;
        ASSERT_EQ(step.sources.size(), 1u);
        int layer = step.sources[0].id + 1;
        auto [it, is_new] = first.try_emplace((layer - 1) / 8, layer);
        it->second = std::min(it->second, layer);
    }
    EXPECT_FALSE(first.empty());
    for (auto [segment, layer] : first) EXPECT_EQ(layer, segment * 8 + 1);
    expect_equal(run(graph, o), run(graph, saving(false)));
    o.recompute.endpoints = {"layer8", "of another graph"};
    try {
        Program::compile(graph, o);
        ADD_FAILURE() << "no error";
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("there is no operator 'of another graph'"));
    }
}

TEST(Recomputation, ChecksItsOptions) {
    CompileOptions o;
    o.recompute.pool = 1;
    EXPECT_NO_THROW(check(o));
    o.recompute.rounds = 1;
    EXPECT_THROW(check(o), UserError);
    o.recompute = {.tries = -1};
    EXPECT_THROW(check(o), UserError);
    o.recompute = {};
    o.recompute.lowers_peak = true;
    o.level = -2;
    EXPECT_THROW(check(o), UserError);
}

TEST(Recomputation, IsOffByDefault) {
    auto program = Program::compile(training(8), CompileOptions{});
    EXPECT_EQ(program->memory().repeated_segments, 0u);
}

}  // namespace
}  // namespace mge::test
