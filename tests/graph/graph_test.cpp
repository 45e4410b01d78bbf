// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::HasSubstr;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

Graph sum_graph() {
    GraphBuilder builder;
    Tensor a = builder.input(f32({2, 3}), "a"), b = builder.input(f32({3}), "b");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::add(ops::add(a, b), scalar_tensor(1, DType::f32))});
    return builder.take();
}

std::string message_of(const std::function<void()>& fn) {
    try {
        fn();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(GraphBuilder, RecordsOperatorsAndConstants) {
    Graph graph = sum_graph();
    verify(graph);
    ASSERT_EQ(graph.nodes().size(), 2u);
    EXPECT_EQ(graph.value(graph.outputs()[0]).spec, f32({2, 3}));
    EXPECT_TRUE(graph.value(graph.node(1).inputs[1]).is_constant());
}

TEST(GraphBuilder, MakesOneConstantPerTensor) {
    GraphBuilder builder;
    Tensor a = builder.input(f32({2}), "a"), one = scalar_tensor(1, DType::f32);
    InterpreterScope scope(builder);
    builder.set_outputs({ops::add(ops::add(a, one), one)});
    auto& nodes = builder.graph().nodes();
    EXPECT_EQ(nodes[0].inputs[1], nodes[1].inputs[1]);
}

TEST(GraphBuilder, RefusesTensorsOfOtherGraphs) {
    GraphBuilder one, other;
    Tensor a = one.input(f32({2}), "a"), b = other.input(f32({2}), "b");
    InterpreterScope scope(one);
    EXPECT_THROW(ops::add(a, b), UserError);
}

// Outside of the builder's scope operators run at once, and a value of a graph has no elements.
TEST(GraphBuilder, NamesTheScopeThatIsMissing) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({2, 3}), "x"), n = builder.input({DType::i32, {2}, {}}, "n");
    Tensor zeros = tensor_from_host(f32({2, 3}), std::array<float, 6>{}.data(), host_device);
    Tensor one = scalar_tensor(1, DType::f32);
    const std::function<void()> uses[] = {
        [&] { ops::add(x, one); },
        [&] { ops::add(one, x); },
        [&] {
            ops::reshape(x, {.shape = {3, 2}});
        },
        [&] { ops::reshape(zeros, n); },
        [&] { ops::matmul(x, x, {.transpose_b = true}); },
        [&] {
            ops::concat({x, x});
        },
        [&] {
            ops::split(x, {.sizes = {1, 1}});
        },
    };
    for (int round : {0, 1}) {
        for (auto& use : uses) EXPECT_THAT(message_of(use), HasSubstr("InterpreterScope")) << round;
        // Plans that calls with elements leave behind change nothing.
        ops::add(zeros, one), ops::add(one, zeros), ops::reshape(zeros, {.shape = {3, 2}});
        ops::concat({zeros, zeros}), ops::split(zeros, {.sizes = {1, 1}});
    }
    EXPECT_TRUE(builder.graph().nodes().empty());
}

TEST(Graph, InfersNewShapes) {
    Graph graph = infer_shapes(sum_graph(), {f32({5, 1, 3}), f32({3})});
    verify(graph);
    EXPECT_EQ(graph.value(graph.outputs()[0]).spec, f32({5, 1, 3}));
    EXPECT_THROW(infer_shapes(sum_graph(), {f32({2, 3}), f32({4})}), UserError);
    EXPECT_THROW(infer_shapes(sum_graph(), {f32({2, 3})}), UserError);
    constexpr int64_t large = int64_t(1) << 32;
    EXPECT_THROW(infer_shapes(sum_graph(), {f32({large, 1, 0}), f32({large, 1})}), UserError);
    EXPECT_THROW(infer_shapes(sum_graph(), {f32({2, 3}), {DType::i32, {3}, {}}}), UserError);
}

TEST(Graph, FoldsHostValuesThatAreKnown) {
    GraphBuilder builder;
    Tensor a = builder.input(f32({2, 3}), "a");
    int32_t dims[] = {3, -1};
    Tensor rows = builder.symbol(builder.value_of(tensor_from_host({DType::i32, {1}, {}}, dims)));
    InterpreterScope scope(builder);
    Tensor computed = ops::concat({rows, tensor_from_host({DType::i32, {1}, {}}, dims + 1)});
    Tensor y = ops::reshape(a, computed);
    EXPECT_EQ(y.shape(), (Shape{3, 2}));
    builder.set_outputs({y});
    Graph graph = builder.take();
    EXPECT_EQ(graph.node(1).inputs.size(), 2u) << "recorded graphs keep their host inputs";
    Graph folded = infer_shapes(graph, {f32({6, 3})});
    verify(folded);
    EXPECT_EQ(folded.node(1).inputs.size(), 1u);
    EXPECT_EQ(folded.value(folded.outputs()[0]).spec, f32({3, 6}));
}

TEST(Graph, KeepsRunTimeShapesUnknown) {
    GraphBuilder builder;
    Tensor a = builder.input(f32({4}), "a"), target = builder.input({DType::i32, {2}, {}}, "target");
    InterpreterScope scope(builder);
    Tensor y = ops::reshape(a, target);
    EXPECT_FALSE(y.shape().is_known());
    EXPECT_EQ(y.dtype(), DType::f32);
    Tensor z = ops::add(y, a);
    EXPECT_FALSE(z.shape().is_known());
    EXPECT_EQ(z.dtype(), DType::f32);
    builder.set_outputs({z});
    verify(builder.graph());
}

TEST(Graph, Prints) {
    Graph graph = sum_graph();
    graph.node(0).name = "say \"hi\"";
    EXPECT_THAT(to_text(graph), HasSubstr("v2 float32(2, 3) = add(in0:a, in1:b) \"say \\\"hi\\\"\""));
    EXPECT_THAT(to_json(graph), HasSubstr("\"op\": \"add\", \"name\": \"say \\\"hi\\\"\", \"params\": {}"));
    EXPECT_THAT(to_dot(graph), HasSubstr("n0 -> n1"));
}

TEST(Verify, NamesTheNode) {
    Graph graph = sum_graph();
    graph.value(graph.outputs()[0]).spec.shape = {7};
    EXPECT_THAT(message_of([&] { verify(graph); }), HasSubstr("node 1 (add) output 0 is float32(7,)"));

    graph = sum_graph();
    graph.node(0).inputs[0] = graph.outputs()[0];
    EXPECT_THAT(message_of([&] { verify(graph); }), HasSubstr("node 0 (add) comes before node 1 (add)"));

    graph = sum_graph();
    graph.node(1).inputs[0] = 99;
    EXPECT_THAT(message_of([&] { verify(graph); }), HasSubstr("reads value 99, which does not exist"));

    graph = sum_graph();
    graph.node(1).params = nullptr;
    EXPECT_THAT(message_of([&] { verify(graph); }), HasSubstr("node 1 (add) has no parameters"));
}

TEST(Gradient, SumsContributionsOfAllPaths) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({4}), "x"), dy = builder.input(f32({2, 2}), "dy");
    Tensor other = builder.input(f32({1}), "other");
    InterpreterScope scope(builder);
    Tensor a = ops::reshape(x, {.shape = {2, 2}}), b = ops::reshape(x, {.shape = {4, 1}});
    std::vector<ValueId> ys{builder.value_of(a), builder.value_of(b)};
    Tensor dy_b = ops::reshape(dy, {.shape = {4, 1}});
    std::vector<ValueId> dys{builder.value_of(dy), builder.value_of(dy_b)};
    std::vector<ValueId> xs{builder.value_of(x), builder.value_of(other)};
    Graph graph = builder.take();
    auto grads = add_gradient(graph, ys, dys, xs);
    verify(graph);
    EXPECT_EQ(grads[1], no_value);
    EXPECT_EQ(graph.value(grads[0]).spec, f32({4}));
    graph.set_outputs({grads[0]});
    float data[] = {1, 2, 3, 4};
    Tensor value = tensor_from_host(f32({2, 2}), data);
    Tensor zeros = tensor_from_host(f32({4}), data);
    Tensor result = Executable(graph, {}).run(std::vector{zeros, value, scalar_tensor(0, DType::f32)})[0];
    EXPECT_EQ(result.data<float>()[3], 8);
}

}  // namespace
}  // namespace mge
