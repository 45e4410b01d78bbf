// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/graph/rewrite.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

Graph conv_net(bool with_dropped = false, bool training = false) {
    return record({f32({2, 3, 4, 4})}, [&](const Tensors& x) {
        Shape one{1, 2, 1, 1};
        Tensor y = ops::conv2d(x[0], constant({2, 3, 1, 1}, {1, 2, 3}));
        y = ops::batch_norm(y, constant(one, {1}), constant(one, {0}), constant(one, {0}), constant(one, {1}),
                            {.training = training})[0];
        y = ops::relu(y);
        if (with_dropped) y = ops::mul(y, constant({1}, {0.5f}));
        y = ops::conv2d(y, constant({2, 2, 1, 1}, {1, -1}));
        return Tensors{ops::relu(y)};
    });
}

Graph noted(Graph graph) {
    note_origins(graph);
    return graph;
}

TEST(Origins, FusedNodesAreNamedAfterAllTheirOperators) {
    Graph graph = run_passes(conv_net(), {});
    std::vector<std::string> labels;
    for (auto& node : graph.nodes())
        if (node.op->name == "conv2d") labels.push_back(node_label(graph, node));
    EXPECT_THAT(labels, ElementsAre("conv2d#0+batch_norm#1+relu#2", "conv2d#3+relu#4"));
    ValueId output = graph.outputs()[0];
    EXPECT_EQ(value_label(graph, output), "relu#4");
}

TEST(Origins, OneNodeOfAnotherProgramIsNamedOnce) {
    Graph source = conv_net();
    source.node(0).name = source.node(1).name = "first";
    Graph graph = run_passes(source, {});
    auto it = std::ranges::find(graph.nodes(), "conv2d", [](const Node& node) { return node.op->name; });
    ASSERT_NE(it, graph.nodes().end());
    EXPECT_EQ(node_label(graph, *it), "first+relu#2");
    EXPECT_THAT(it->origins, ElementsAre(0, 1, 2));
    EXPECT_THAT(labels(std::span(*graph.source_nodes()).first(3)), ElementsAre("first", "relu#2"));
}

TEST(Origins, SurviveBeingOptimisedTwice) {
    PassOptions first{.level = 1, .fixed_shapes = false};
    Graph once = run_passes(conv_net(), first);
    PassOptions ahead{.fixed_shapes = false};
    ahead.passes["choose_layout"] = false;
    Graph twice = run_passes(run_passes(once, ahead), {});
    auto it = std::ranges::find(twice.nodes(), "conv2d", [](const Node& node) { return node.op->name; });
    ASSERT_NE(it, twice.nodes().end());
    EXPECT_THAT(it->origins, ElementsAre(0, 1, 2));
    EXPECT_EQ(*twice.source_nodes(), *noted(conv_net()).source_nodes());
}

TEST(Origins, EqualValuesAreEachOfThem) {
    Graph graph = record({f32({2, 3})}, [](const Tensors& x) {
        Tensor a = ops::exp(x[0]), b = ops::exp(x[0]);
        return Tensors{ops::matmul(a, b, {.transpose_b = true})};
    });
    Graph merged = run_passes(graph, {});
    auto& node = merged.node(0);
    ASSERT_EQ(node.op->name, "exp");
    EXPECT_THAT(merged.value(node.outputs[0]).origins, ElementsAre(ValueOrigin{0, 0}, ValueOrigin{1, 0}));
    EXPECT_EQ(value_label(merged, node.outputs[0]), "exp#0");
    EXPECT_THAT(other_labels(merged, node.outputs[0]), ElementsAre("exp#1"));
}

TEST(Origins, ValueIsNotNamedAfterALaterEqualOne) {
    // The first product is taken in by what reads it, after the second, which is equal, was merged into it.
    Graph graph = record({f32({2, 2})}, [](const Tensors& x) {
        Tensor a = ops::exp(x[0]), y = ops::tanh(a), b = ops::exp(x[0]);
        return Tensors{ops::matmul(y, ops::tanh(b)), y};
    });
    Graph after = run_passes(graph, {});
    for (auto& value : after.values())
        for (auto& origin : value.origins) EXPECT_EQ(origin.output, 0);
    EXPECT_EQ(value_label(after, after.outputs()[1]), "tanh#1");
}

TEST(Origins, MatchAcrossAnExtraOperator) {
    Graph a = noted(conv_net()), b = noted(conv_net(true, true));
    EXPECT_THAT(match_sources(*a.source_nodes(), *b.source_nodes()), ElementsAre(0, 1, 2, 4, 5));
    EXPECT_THAT(match_sources(*b.source_nodes(), *a.source_nodes()), ElementsAre(0, 1, 2, -1, 3, 4));
}

TEST(Origins, MatchMovedValuesByName) {
    Graph a = conv_net(), b = conv_net(true);
    a.node(3).name = b.node(4).name = "second";
    b.node(4).params = with_param(*b.node(4).op, b.node(4).params.get(), "activation", std::string("relu"));
    auto matched = match_sources(*noted(a).source_nodes(), *noted(b).source_nodes());
    EXPECT_EQ(matched.at(3), 4);
}

TEST(Origins, ValuesMadeByPassesAreNamedAfterTheirInputs) {
    Graph graph = noted(conv_net());
    NodeId made =
        graph.add_node(*find_op("copy"), find_op("copy")->params.make(), {graph.node(2).outputs[0]});
    EXPECT_EQ(node_label(graph, graph.node(made)), "copy of relu#2");
    EXPECT_EQ(operator_text(graph, graph.node(made)), "copy 'copy of relu#2'");
}

}  // namespace
}  // namespace mge::test
