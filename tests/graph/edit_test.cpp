// SPDX-License-Identifier: Apache-2.0
// Changes by hand: ids of values stay, what is refused leaves the graph as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/graph/edit.h"
#include "libmge/mge.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

// y = relu(a + b), with everything by its id.
struct Sample {
    GraphBuilder builder;
    ValueId a, b, sum, y;

    Sample() {
        InterpreterScope scope(builder);
        Tensor ta = builder.input(f32({2}), "a"), tb = builder.input(f32({2}), "b");
        Tensor tsum = ops::add(ta, tb), ty = ops::relu(tsum);
        a = builder.value_of(ta);
        b = builder.value_of(tb);
        sum = builder.value_of(tsum);
        y = builder.value_of(ty);
        builder.set_outputs({ty});
    }
    template <class F>
    ValueId add(F function) {
        InterpreterScope scope(builder);
        return builder.value_of(function());
    }
};

std::vector<std::string> ops_reached(const Graph& graph) {
    auto needed = needed_nodes(graph, graph.outputs());
    std::vector<std::string> names;
    for (size_t i = 0; i < needed.size(); ++i)
        if (needed[i]) names.emplace_back(graph.node(NodeId(i)).op->name);
    return names;
}

TEST(ReplaceValues, ReadersReadTheNewValueInAnyOrder) {
    Sample s;
    ValueId later = s.add([&] { return ops::exp(s.builder.symbol(s.b)); });
    Graph graph = replace_values(s.builder.graph(), {{s.a, later}});
    verify(graph);
    EXPECT_THAT(ops_reached(graph), ElementsAre("exp", "add", "relu"));
    EXPECT_THAT(graph.outputs(), ElementsAre(s.y));
}

TEST(ReplaceValues, DependenciesOfTheNewValueKeepTheOldOne) {
    Sample s;
    ValueId behind = s.add([&] { return ops::neg(s.builder.symbol(s.sum)); });
    Graph graph = replace_values(s.builder.graph(), {{s.sum, behind}});
    verify(graph);
    EXPECT_THAT(ops_reached(graph), ElementsAre("add", "neg", "relu"));
}

TEST(ReplaceValues, OutputsToo) {
    Sample s;
    Graph graph = replace_values(s.builder.graph(), {{s.y, s.sum}});
    EXPECT_THAT(graph.outputs(), ElementsAre(s.sum));
}

TEST(ReplaceValues, RefusesCyclesAndInvalidInputs) {
    Sample s;
    ValueId from_a = s.add([&] { return ops::exp(s.builder.symbol(s.a)); });
    ValueId from_b = s.add([&] { return ops::exp(s.builder.symbol(s.b)); });
    const Graph& graph = s.builder.graph();
    ValueId on_from_a = s.add([&] { return ops::neg(s.builder.symbol(from_a)); });
    ValueId on_from_b = s.add([&] { return ops::neg(s.builder.symbol(from_b)); });
    EXPECT_THAT(error_of([&] {
                    replace_values(graph, {{from_a, on_from_b}, {from_b, on_from_a}});
                }),
                HasSubstr("would have to wait for itself"));
    ValueId wide = s.builder.value_of(s.builder.input(f32({3}), "wide"));
    EXPECT_THAT(error_of([&] { replace_values(graph, {{s.a, wide}}); }), HasSubstr("do not broadcast"));
    EXPECT_THAT(error_of([&] { replace_values(graph, {{s.a, 99}}); }), HasSubstr("99"));
}

TEST(WithInputs, ChangesOneReader) {
    Sample s;
    ValueId later = s.add([&] { return ops::exp(s.builder.symbol(s.b)); });
    NodeId sum = s.builder.graph().value(s.sum).producer;
    Graph graph = with_inputs(s.builder.graph(), sum, {s.a, later});
    verify(graph);
    EXPECT_THAT(ops_reached(graph), ElementsAre("exp", "add", "relu"));
    EXPECT_THAT(error_of([&] {
                    with_inputs(s.builder.graph(), sum, {s.a, s.y});
                }),
                HasSubstr("would have to wait for itself"));
    EXPECT_THAT(error_of([&] {
                    with_inputs(s.builder.graph(), sum, {s.a, s.b, s.b});
                }),
                HasSubstr("takes at most 2 inputs, got 3"));
}

TEST(InferAgain, KeepsValuesDerivedFromShapes) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input(f32({2, 6}), "x");
        Tensor target = ops::shape_of(x);
        builder.set_outputs({ops::reshape(x, target)});
    }
    Graph graph = builder.graph();
    graph.value(graph.inputs()[0]).spec.shape = {5, 6};
    graph = infer_again(std::move(graph));
    EXPECT_EQ(graph.value(graph.outputs()[0]).spec.shape, Shape({5, 6}));
    EXPECT_EQ(graph.nodes().size(), 2u);
    EXPECT_EQ(graph.nodes()[1].inputs.size(), 2u);
    verify(graph);
}

TEST(CopyValues, FromAnotherGraphWithInputsAndConstants) {
    GraphBuilder other;
    ValueId source = no_value;
    {
        InterpreterScope scope(other);
        Tensor x = other.input(f32({2}), "x");
        source = other.value_of(ops::mul(x, scalar_tensor(3, DType::f32, host_device)));
    }
    Sample s;
    Graph graph = s.builder.graph();
    std::map<ValueId, ValueId> known;
    ValueId copy = copy_values(graph, other.graph(), {source}, known).at(0);
    EXPECT_EQ(copy_values(graph, other.graph(), {source}, known).at(0), copy);
    EXPECT_EQ(graph.inputs().size(), 3u);
    EXPECT_EQ(graph.value(graph.inputs()[2]).name, "x");
    EXPECT_THAT(ops_reached(replace_values(graph, {{s.b, copy}})), ElementsAre("mul", "add", "relu"));
}

TEST(CopyValues, SharesUnchangedValuesWithinAGraph) {
    Sample s;
    Graph graph = s.builder.graph();
    ValueId kept = s.y;
    std::map<ValueId, ValueId> known{{s.sum, s.b}};
    auto copies = copy_values(graph, graph, {s.y, s.a}, known);
    EXPECT_NE(copies[0], kept);
    EXPECT_EQ(copies[1], s.a);
    EXPECT_EQ(graph.nodes().size(), 3u);
    EXPECT_THAT(graph.node(graph.value(copies[0]).producer).inputs, ElementsAre(s.b));
    verify(graph);
}

TEST(Resume, SymbolsContinue) {
    Sample s;
    Tensor symbol = s.builder.symbol(s.y);
    s.builder.resume(replace_values(s.builder.graph(), {{s.sum, s.a}}));
    InterpreterScope scope(s.builder);
    s.builder.set_outputs({ops::exp(symbol)});
    EXPECT_THAT(ops_reached(s.builder.graph()), ElementsAre("relu", "exp"));
}

}  // namespace
}  // namespace mge::test
