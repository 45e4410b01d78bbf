// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/first_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/compile/plain.h"
#include "libmge/inspect/value_names.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using testing::ElementsAre;

Tensor noise(const Shape& shape, uint32_t seed) {
    Tensor result = empty_tensor({DType::f32, shape, {}});
    for (int64_t i = 0; i < shape.numel(); ++i) {
        seed = seed * 1664525u + 1013904223u;
        result.data<float>()[i] = float(seed >> 8) / float(1 << 23) - 1;
    }
    return result;
}

// Three convolutions, the last added to the first; then the mean of each image as a row.
Graph net(float third_bias = 0.25f) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 8, 9, 9}, {}}, "x");
    InterpreterScope scope(builder);
    auto conv = [](const Tensor& in, uint32_t seed, float bias) {
        Tensor b = noise({1, 16, 1, 1}, seed + 100);
        for (int i = 0; i < 16; ++i) b.data<float>()[i] *= bias;
        Tensor w = noise({16, in.shape()[1], 3, 3}, seed);
        return ops::add(ops::conv2d(in, w, {.padding = {1, 1}}), b);
    };
    Tensor a = ops::relu(conv(x, 1, 0.25f));
    Tensor b = ops::relu(conv(a, 2, 0.25f));
    Tensor c = ops::relu(ops::add(conv(b, 3, third_bias), a));
    Tensor rows = ops::reshape(c, {.shape = {2, 16, 81}});
    builder.set_outputs({ops::mean(rows, {.axes = {2}})});
    return name_values(builder.take());
}

CompileOptions plain() {
    CompileOptions options;
    options.level = 0;
    options.select.reference = true;
    return options;
}

FirstDifference compare(const Graph& a, const CompileOptions& how, const Graph& b,
                        const CompileOptions& other, const Tolerance& tolerance) {
    Tensors inputs{noise({2, 8, 9, 9}, 7)};
    LayerWalk walk(a, how, inputs);
    auto other_walk = std::make_unique<LayerWalk>(b, other, inputs);
    auto keys = keys_by_origin(walk.graph()), other_keys = keys_by_origin(other_walk->graph());
    auto reference = walk_reference(std::move(other_walk), std::move(other_keys), last_uses(walk, keys));
    return find_first_difference(walk, *reference, keys, tolerance);
}

Graph optimised(Graph graph) {
    PassOptions options{.fixed_shapes = false};
    options.passes["choose_layout"] = false;
    return run_passes(std::move(graph), options);
}

std::vector<NodeId> numbers(const std::vector<SourceNode>& sources) {
    std::vector<NodeId> result;
    for (auto& source : sources) result.push_back(source.id);
    return result;
}

TEST(LayerWalk, ReturnsTheOutputsOfTheProgram) {
    Graph graph = net();
    Tensors inputs{noise({2, 8, 9, 9}, 7)};
    LayerWalk walk(graph, {}, inputs);
    while (walk.done() < walk.step_count()) walk.run_next();
    auto program = Program::compile(graph, {});
    auto context = Context::create(program);
    context->bind_input(0, inputs[0].data());
    context->run();
    ASSERT_EQ(walk.step_count(), program->steps().size());
    Tensor got = to_plain(walk.value(walk.graph().outputs()[0]));
    EXPECT_TRUE(compare_tensors(got, context->copy_output(0), {.rtol = 0.0}).passed());
}

TEST(LayerWalk, KeepsOnlyValuesReadLater) {
    Graph graph = net();
    LayerWalk walk(graph, plain(), {noise({2, 8, 9, 9}, 7)});
    size_t most = 0;
    while (walk.done() < walk.step_count()) {
        walk.run_next();
        size_t there = 0;
        for (size_t i = 0; i < walk.graph().values().size(); ++i)
            there += !walk.graph().value(ValueId(i)).is_constant() && walk.value(ValueId(i));
        most = std::max(most, there);
    }
    EXPECT_LE(most, 3u) << "the residual, a step's input and its output";
}

TEST(FirstDifference, OptimisedAgreesWithTheReference) {
    FirstDifference result = compare(net(), {}, net(), plain(), {});
    EXPECT_FALSE(result.first) << result.first->op;
    EXPECT_EQ(result.compared, result.steps) << "every step, reorders included, has its counterpart";
    EXPECT_EQ(result.compared, result.values);
}

// A shuffle of channels, halves of which go through depthwise and plain convolutions.
Graph shuffled() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 8, 9, 9}, {}}, "x");
    InterpreterScope scope(builder);
    Tensor a = ops::relu(ops::conv2d(x, noise({8, 8, 1, 1}, 1))),
           b = ops::conv2d(x, noise({8, 8, 3, 3}, 2), {.padding = {1, 1}});
    Tensor y = ops::reshape(ops::concat({a, b}, {.axis = 1}), {.shape = {2, 2, 8, 9, 9}});
    y = ops::reshape(ops::transpose(y, {.pattern = {0, 2, 1, 3, 4}}), {.shape = {2, 16, 9, 9}});
    Tensors halves = ops::split(y, {.axis = 1, .sizes = {8, 8}});
    Tensor z = ops::conv2d(halves[1], noise({8, 1, 1, 3, 3}, 3), {.groups = 8});
    builder.set_outputs(
        {ops::conv2d(halves[0], noise({4, 8, 1, 1}, 4)), ops::relu(ops::conv2d(z, noise({4, 8, 1, 1}, 5)))});
    return name_values(builder.take());
}

TEST(FirstDifference, ComparesChannelsInTheOrderOfTheSource) {
    for (auto layout : {"auto", "nchw", "nhwc", "nChw8c"}) {
        CompileOptions options;
        options.layout = layout;
        FirstDifference result = compare(shuffled(), options, shuffled(), plain(), {});
        EXPECT_FALSE(result.first) << layout << ' ' << result.first->name;
        EXPECT_EQ(result.compared, result.values);
        result = compare(shuffled(), plain(), shuffled(), options, {});
        EXPECT_FALSE(result.first) << layout << ' ' << result.first->name;
        options.level = -2;
        EXPECT_NO_THROW(Executable(shuffled(), options).run(Tensors{noise({2, 8, 9, 9}, 7)})) << layout;
    }
}

// Other channels in the halves: the first operator that differs takes its inputs from the reference in their
// order.
TEST(FirstDifference, RunsAnOperatorAloneOnChannelsInItsOrder) {
    Graph other = shuffled();
    for (size_t i = 0; i < other.values().size(); ++i)
        if (auto& value = other.value(ValueId(i)); value.spec.shape == Shape{8, 1, 1, 3, 3})
            value.constant = noise({8, 1, 1, 3, 3}, 6);
    FirstDifference result = compare(shuffled(), {}, other, plain(), {});
    ASSERT_TRUE(result.cause);
    EXPECT_EQ(result.cause->op, "conv2d");
    EXPECT_THAT(result.cause->spec.shape, (Shape{2, 8, 7, 7}));
    ASSERT_TRUE(result.cause->alone);
    EXPECT_EQ(result.cause->alone->from_reference, 1);
    EXPECT_NEAR(result.cause->alone->comparison.error, result.cause->comparison.error, 1e-3);
}

TEST(FirstDifference, NamesTheOperatorAndRunsItAlone) {
    Tolerance tolerance{.rtol = 1e-3};
    FirstDifference result = compare(net(0.5f), {}, net(0.25f), plain(), tolerance);
    ASSERT_TRUE(result.first);
    auto& first = *result.first;
    EXPECT_EQ(first.op, "conv2d");
    // Nodes 0…8: conv, add, relu, conv, add, relu, conv, add (bias), add (residual), relu.
    EXPECT_THAT(numbers(first.sources), ElementsAre(6, 7, 8, 9));
    EXPECT_THAT(first.suspects, ElementsAre(first.step)) << "all that it reads was compared";
    ASSERT_TRUE(first.alone);
    EXPECT_EQ(first.alone->inputs, 2);
    EXPECT_EQ(first.alone->from_reference, 2);
    EXPECT_FALSE(first.alone->comparison.passed()) << "its own constants are wrong";
    ASSERT_TRUE(result.cause);
    EXPECT_EQ(result.cause->step, first.step);
    ASSERT_TRUE(first.expected);
    EXPECT_GT(first.comparison.error, first.comparison.limit);
}

TEST(FirstDifference, OptimisedAheadOfTimeIsComparedLayerByLayer) {
    for (bool here : {true, false}) {
        Graph a = here ? optimised(net(0.5f)) : net(0.5f), b = here ? net(0.25f) : optimised(net(0.25f));
        FirstDifference result = compare(a, {}, b, {}, {.rtol = 1e-3});
        ASSERT_TRUE(result.first);
        EXPECT_THAT(numbers(result.first->sources), ElementsAre(6, 7, 8, 9));
        EXPECT_EQ(result.first->name, "conv2d#6+add#7+add#8+relu#9");
        EXPECT_THAT(result.first->suspects, ElementsAre(result.first->step));
    }
}

TEST(FirstDifference, NamesNoOperatorWithUncomparedInputs) {
    // Here every operator is a step; the other side has the results of the fused ones only.
    FirstDifference result = compare(net(0.5f), plain(), optimised(net(0.25f)), {}, {.rtol = 1e-3});
    ASSERT_TRUE(result.first);
    EXPECT_EQ(result.first->output, "relu#9");
    EXPECT_THAT(result.first->suspect_texts,
                ElementsAre("conv2d 'conv2d#6'", "add 'add#7'", "add 'add#8'", "relu 'relu#9'"));
    EXPECT_THAT(result.first->agreed, testing::UnorderedElementsAre("relu#2", "relu#5"));
    EXPECT_LT(result.compared, result.values);
}

TEST(FirstDifference, DistinguishesDriftFromACause) {
    // The second network's first bias is off by so little that only the end, with a bound of its own, sees
    // it.
    Tolerance tight{.rtol = 0.0, .atol = 0.0};
    FirstDifference result = compare(net(), {}, net(), plain(), tight);
    ASSERT_TRUE(result.first) << "other algorithms round in other ways";
    EXPECT_EQ(result.first->step, result.cause->step) << "and the first one does so by itself";
}

TEST(FirstDifference, ComparesByNameWithStoredValues) {
    Graph graph = net();
    Tensors inputs{noise({2, 8, 9, 9}, 7)};
    std::map<std::string, Tensor> stored;
    LayerWalk writer(graph, plain(), inputs);
    while (writer.done() < writer.step_count()) {
        writer.run_next();
        ValueId id = writer.node(writer.done() - 1).outputs[0];
        stored[writer.graph().value(id).name] = copy_plain(writer.value(id));
    }
    std::vector<std::string> names;
    for (auto& [name, tensor] : stored) names.push_back(name);
    auto read = [&](const std::string& name) { return stored.at(name); };
    auto check = [&] {
        LayerWalk walk(graph, {}, inputs);
        auto reference = stored_reference(names, read);
        return find_first_difference(walk, *reference, keys_for_files(walk.graph()), {});
    };
    FirstDifference same = check();
    EXPECT_FALSE(same.first);
    EXPECT_GE(same.compared, 3u);
    // relu#5 ends the second convolution.
    ASSERT_TRUE(stored.contains("relu#5"));
    stored["relu#5"].data<float>()[17] += 1;
    FirstDifference changed = check();
    ASSERT_TRUE(changed.first);
    EXPECT_EQ(changed.first->output, "relu#5");
    EXPECT_EQ(changed.first->comparison.first_beyond->index, 17);
}

TEST(FirstDifference, SupportsRunTimeShapes) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {6}, {}}, "x");
    Graph graph;
    {
        InterpreterScope scope(builder);
        Tensor mask = ops::greater(x, builder.symbol(builder.value_of(scalar_tensor(0, DType::f32))));
        Tensors taken = ops::cond_take(x, mask);
        builder.set_outputs({ops::mul(taken[0], taken[0])});
        graph = name_values(builder.take());
    }
    float values[] = {1, -1, 2, -2, 3, -3};
    Tensors inputs{tensor_from_host({DType::f32, {6}, {}}, values)};
    LayerWalk walk(graph, {}, inputs);
    auto other = std::make_unique<LayerWalk>(graph, plain(), inputs);
    auto keys = keys_by_origin(walk.graph()), other_keys = keys_by_origin(other->graph());
    auto reference = walk_reference(std::move(other), std::move(other_keys), last_uses(walk, keys));
    FirstDifference result = find_first_difference(walk, *reference, keys, {});
    EXPECT_FALSE(result.first);
    EXPECT_EQ(walk.value(walk.graph().outputs()[0]).shape(), (Shape{3}));
}

// h' = cumsum(c h), three times.
Graph loop(float c) {
    TensorSpec spec{DType::f32, {2, 8, 9, 9}, {}};
    auto body = make_subgraph(TensorSpecs{spec}, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::cumsum(ops::mul(in[0], noise({1, 8, 1, 1}, uint32_t(c * 100))), {.axis = 2})};
    });
    GraphBuilder builder;
    Tensor x = builder.input(spec, "x");
    InterpreterScope scope(builder);
    Tensor h = ops::scan({ops::relu(x)}, {.body = body, .carried = 1, .length = 3})[0];
    builder.set_outputs({ops::neg(h)});
    Graph graph = builder.take();
    graph.node(1).name = "loop";
    return name_values(graph);
}

TEST(FirstDifference, EntersLoops) {
    FirstDifference result = compare(loop(1), {}, loop(2), plain(), {});
    ASSERT_TRUE(result.cause);
    EXPECT_EQ(result.cause->op, "scan");
    ASSERT_TRUE(result.cause->inside);
    EXPECT_EQ(result.cause->inside->op, "mul");
    EXPECT_THAT(result.cause->inside->name, testing::StartsWith("loop/body[0]/mul"));
    EXPECT_GT(result.cause->inside->comparison.error, 0);
    EXPECT_TRUE(result.first->inside);
    EXPECT_FALSE(compare(loop(1), {}, loop(1), plain(), {}).first);
}

// All values of a run, by the names that dumps give them.
class Kept final : public StepObserver {
public:
    explicit Kept(const Program& program) : labels_(value_labels(program)) {}
    void after_step(size_t step, Context& context) override {
        for (ValueId id : context.program().steps()[step].outputs)
            values[labels_[size_t(id)]] = copy_plain(context.value(id));
    }
    StepObserver* inside(const InnerRun& run, Context& inner) override { return inside_.at(run, inner); }
    std::map<std::string, Tensor> values;

private:
    std::vector<std::string> labels_;
    InsideValues inside_{
        [this](const InsideValue& v) { values[v.name()] = copy_plain(v.context.value(v.id)); }};
};

TEST(FirstDifference, ReadsDumpedValuesOfLoops) {
    Tensors inputs{noise({2, 8, 9, 9}, 7)};
    auto program = Program::compile(loop(1), {});
    auto context = Context::create(program);
    context->fill_inputs(inputs);
    Kept kept(*program);
    context->observe(&kept);
    context->run();
    auto find = [&] {
        std::vector<std::string> names;
        for (auto& [name, value] : kept.values) names.push_back(name);
        auto reference =
            stored_reference(names, [&](const std::string& name) { return kept.values.at(name); });
        LayerWalk walk(loop(1), {}, inputs);
        return find_first_difference(walk, *reference, keys_for_files(walk.graph()), {});
    };
    EXPECT_FALSE(find().first);
    for (auto& [name, value] : kept.values)
        if (name.starts_with("loop") && !name.starts_with("loop/body[0]")) value.data<float>()[7] += 10;
    auto result = find();
    ASSERT_TRUE(result.first);
    ASSERT_TRUE(result.first->inside) << result.first->op;
    EXPECT_THAT(result.first->inside->name, testing::StartsWith("loop/body[1]/"));
    EXPECT_GE(result.first->compared_inside, 3u);
}

}  // namespace
}  // namespace mge
