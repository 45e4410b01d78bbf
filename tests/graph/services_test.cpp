// SPDX-License-Identifier: Apache-2.0
// Numbers, user data, look-ups, receivers and orders of graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/harness/expect_error.h"
#include "tests/new_folder.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

Graph record(std::initializer_list<TensorSpec> specs,
             const std::function<Tensors(const Tensors&)>& function) {
    GraphBuilder builder;
    Tensors inputs;
    for (auto& spec : specs) inputs.push_back(builder.input(spec, text("x", inputs.size())));
    InterpreterScope scope(builder);
    builder.set_outputs(function(inputs));
    return builder.take();
}

std::vector<std::string> ops_of(const Graph& graph) {
    std::vector<std::string> names;
    for (auto& node : graph.nodes()) names.emplace_back(node.op->name);
    return names;
}

TEST(GraphIdentity, NumbersRiseAndCopiesShareThem) {
    Graph a, b;
    uint64_t first = a.id();
    EXPECT_EQ(a.id(), first);
    EXPECT_LT(first, b.id());
    Graph copy = a;
    EXPECT_EQ(copy.id(), a.id());
    Graph program_source = record({f32({2})}, [](auto& x) { return Tensors{ops::exp(x[0])}; });
    EXPECT_LT(b.id(), program_source.id());
    EXPECT_NE(Program::compile(program_source, {})->id(), program_source.id());
}

TEST(GraphIdentity, UserDataLivesAsLongAsTheGraph) {
    struct Counted {
        explicit Counted(int& count) : count(&count) {}
        Counted(Counted&& other) noexcept : count(std::exchange(other.count, nullptr)) {}
        ~Counted() {
            if (count) ++*count;
        }
        int* count;
    };
    int destroyed = 0;
    std::shared_ptr<const Program> program;
    {
        Graph graph = record({f32({2})}, [](auto& x) { return Tensors{ops::exp(x[0])}; });
        graph.user_data().get<std::string>() = "mine";
        graph.user_data().put(Counted(destroyed));
        EXPECT_EQ(graph.user_data().find<int>(), nullptr);
        program = Program::compile(graph, {});
        Graph copy = graph;
        EXPECT_EQ(copy.user_data().get<std::string>(), "mine");
    }
    EXPECT_EQ(destroyed, 0) << "a program of it is there";
    EXPECT_EQ(program->graph().user_data().get<std::string>(), "mine");
    program.reset();
    EXPECT_EQ(destroyed, 1);
}

TEST(GraphLookUp, MissingValueIsATypedError) {
    Graph graph = record({f32({2})}, [](auto& x) { return Tensors{ops::exp(x[0])}; });
    EXPECT_EQ(graph.find_value(7), nullptr);
    EXPECT_EQ(graph.find_value(no_value), nullptr);
    EXPECT_EQ(graph.find_node(1), nullptr);
    EXPECT_EQ(graph.find_value(1), &graph.value(1));
    EXPECT_EQ(graph.find_node(0), &graph.node(0));
    expect_user_error(ErrorClass::index, "[graph] there is no value 7; the graph has 2 values",
                      [&] { graph.value(7); });
    expect_user_error(ErrorClass::index, "[graph] there is no node -1; the graph has 1 node",
                      [&] { graph.node(-1); });
}

TEST(GraphLookUp, FindsValuesInsideLoops) {
    auto inner = make_subgraph(TensorSpecs{f32({2})},
                               [](std::span<const Tensor> in) -> Tensors { return {ops::exp(in[0])}; });
    auto outer = make_subgraph(TensorSpecs{f32({2})}, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::scan({ops::neg(in[0])}, {.body = inner, .carried = 1, .length = 2})[0]};
    });
    Graph graph = record(
        {f32({2})}, [&](auto& x) { return ops::scan({x[0]}, {.body = outer, .carried = 1, .length = 2}); });
    graph.node(0).name = "loop";
    std::vector<std::string> paths;
    for (auto& each : with_inner_graphs(graph)) paths.push_back(each.path);
    EXPECT_THAT(paths, ElementsAre("", "loop/body/", "loop/body/scan#1/body/"));
    auto* value = find_value(graph, "loop/body/scan#1/body/exp#0");
    ASSERT_TRUE(value);
    EXPECT_EQ(graph_of(inner).node(value->producer).op->name, "exp");
    EXPECT_EQ(find_value(graph, "x0"), &graph.value(0));
    EXPECT_EQ(find_value(graph, "loop/body/exp#0"), nullptr);
    EXPECT_EQ(find_value(graph, ""), nullptr);
}

TEST(GraphLookUp, TensorOfAnotherGraphNamesBothGraphs) {
    GraphBuilder one;
    Tensor a = one.input(f32({2}), "a");
    InterpreterScope scope(one);
    {
        GraphBuilder other;
        Tensor b = other.input(f32({2}), "b");
        EXPECT_EQ(error_of([&] { ops::add(a, b); }), text("[graph] a tensor of graph ", other.graph().id(),
                                                          " cannot be used in graph ", one.graph().id()));
        a = b;
    }
    EXPECT_THAT(error_of([&] { ops::exp(a); }),
                HasSubstr("a tensor of another graph cannot be used in graph "))
        << "its builder is gone";
}

TEST(Receivers, AreDistinguished) {
    Graph graph = record({f32({2, 3}), {DType::i32, {2}, {}}}, [](auto& x) {
        Tensor y = ops::exp(x[0]);
        Tensor shaped = ops::reshape({y, x[1]});
        Tensor like = ops::full_like(y, {.value = 2});
        return Tensors{y, shaped, like, ops::neg(y), y, ops::shape_of(y)};
    });
    Receivers y = receivers(graph, graph.node(0).outputs[0]);
    EXPECT_EQ(y, (Receivers{.outputs = 2, .values = 2, .last_value = 3, .shapes = 2, .hosts = 0}));
    EXPECT_EQ(y.to_string(), "2 outputs, 2 readers of values (the last is node 3), 2 readers of the shape");
    EXPECT_TRUE(y.value_needed());
    Receivers target = receivers(graph, graph.inputs()[1]);
    EXPECT_EQ(target.to_string(), "1 reader on the host");
    EXPECT_FALSE(target.value_needed());
    EXPECT_FALSE(target.is_empty());
    Graph unread = record({f32({2})}, [](auto&) { return Tensors{}; });
    EXPECT_TRUE(receivers(unread, 0).is_empty());
    EXPECT_EQ(receivers(unread, 0).to_string(), "nobody");
    EXPECT_THAT(error_of([&] { receivers(unread, 5); }), HasSubstr("there is no value 5"));
    // Fused values have no readers.
    auto program = Program::compile(
        record({f32({64})}, [](auto& x) { return Tensors{ops::mul(ops::exp(x[0]), ops::neg(x[0]))}; }), {});
    EXPECT_EQ(receivers(program->graph(), program->graph().inputs()[0]).values,
              int(program->steps()[0].inputs.size()));
}

// z = −exp(x) is asked for; the counter is not.
Graph with_counter() {
    return record({f32({4}), f32({4})}, [](auto& x) {
        Tensor y = ops::exp(x[0]);
        Tensor z = ops::neg(y);
        Tensor counter = ops::cumsum(x[1], {.axis = 0});
        ops::exp(counter);
        return Tensors{z};
    });
}

TEST(OrderAfter, ComputesDependenciesBeforeReaders) {
    Graph graph = with_counter();
    ValueId y = graph.node(0).outputs[0], counter = graph.node(2).outputs[0];
    Graph ordered = order_after(graph, {{y, {counter}}});
    verify(ordered);
    EXPECT_THAT(ops_of(ordered), ElementsAre("exp", "cumsum", "exp", "wait_for", "neg"));
    EXPECT_EQ(ordered.value(graph.outputs()[0]).spec, f32({4}));

    for (int level : {0, 1, 2, 3}) {
        CompileOptions options;
        options.level = level;
        EXPECT_EQ(Program::compile(graph, options)->steps().size(), level < 2 ? 2u : 1u) << level;
        options.extra_vardeps = {{y, {counter}}};
        for (bool recomputes : {false, true}) {
            options.recompute.lowers_peak = recomputes;
            auto program = Program::compile(graph, options);
            std::vector<std::string> steps;
            for (auto& step : program->steps()) steps.push_back(step.op);
            EXPECT_THAT(steps, ElementsAre("exp", "cumsum", "neg")) << level;
            auto context = Context::create(program);
            std::fill_n(static_cast<float*>(context->input(0)), 4, 3.F);
            std::fill_n(static_cast<float*>(context->input(1)), 4, 1.F);
            context->run();
            EXPECT_FLOAT_EQ(context->output(0).data<float>()[0], -std::exp(3.F));
        }
    }
}

TEST(OrderAfter, MayApplyToInputsAndOutputs) {
    Graph graph = with_counter();
    ValueId counter = graph.node(2).outputs[0];
    Graph ordered = order_after(graph, {{graph.inputs()[0], {counter}}});
    EXPECT_THAT(ops_of(ordered), ElementsAre("cumsum", "exp", "wait_for", "exp", "neg"));
    graph.value(graph.outputs()[0]).name = "z";
    Graph last = order_after(graph, {{graph.outputs()[0], {counter}}});
    EXPECT_THAT(ops_of(last), ElementsAre("exp", "neg", "cumsum", "exp", "wait_for"));
    EXPECT_EQ(last.value(last.outputs()[0]).name, "z");
    EXPECT_THAT(ops_of(order_after(graph, {})), ElementsAre("exp", "neg", "cumsum", "exp"));
}

TEST(OrderAfter, SurvivesFilesGradientsAndViews) {
    Graph graph = record({f32({4}), f32({4})}, [](auto& x) {
        Tensor y =
            ops::reshape(ops::wait_for({ops::flatten(x[0], {.start = 0}), ops::cumsum(x[1], {.axis = 0})}),
                         {.shape = {2, 2}});
        return Tensors{ops::exp(y)};
    });
    for (int level : {0, 2}) {
        CompileOptions options;
        options.level = level;
        EXPECT_EQ(Program::compile(graph, options)->steps().size(), 2u);
    }
    auto folder = new_folder("mge_services");
    write_model((folder / "order.mge").string(), {graph});
    Graph read = read_model((folder / "order.mge").string()).graph;
    EXPECT_EQ(ops_of(read), ops_of(graph));
    EXPECT_EQ(Program::compile(read, {})->steps().size(), 2u);
    std::filesystem::remove_all(folder);
    ValueId dy = graph.add_input(f32({2, 2}), "dy");
    auto grads = add_gradient(graph, graph.outputs(), {dy}, graph.inputs());
    EXPECT_NE(grads[0], no_value);
    EXPECT_EQ(grads[1], no_value) << "nothing is computed from it";
}

TEST(OrderAfter, RefusesCyclesAndUnknownValues) {
    Graph graph = with_counter();
    ValueId y = graph.node(0).outputs[0], z = graph.node(1).outputs[0], counter = graph.node(2).outputs[0];
    EXPECT_THAT(error_of([&] {
                    order_after(graph, {{y, {z}}});
                }),
                HasSubstr("[extra_vardeps] neg 'neg#1' would have to wait for itself"));
    EXPECT_THAT(error_of([&] {
                    order_after(graph, {{y, {counter}}, {graph.inputs()[1], {z}}});
                }),
                HasSubstr("would have to wait for itself"));
    EXPECT_THAT(error_of([&] { order_after(graph, {{y, {99}}}); }), HasSubstr("there is no value 99"));
    CompileOptions options;
    options.extra_vardeps = {{y, {z}}};
    EXPECT_THAT(error_of([&] { Program::compile(graph, options); }), HasSubstr("[extra_vardeps]"));
}

}  // namespace
}  // namespace mge::test
