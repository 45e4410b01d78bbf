// SPDX-License-Identifier: Apache-2.0
// Programs for all sizes of some dimensions.
#include <gtest/gtest.h>

#include "libmge/compile/open_graph.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

constexpr int64_t width = 128;

// A step of a model that generates: a product with weights, which a past is extended by, and a sum over all
// places, weighted by a mask. Weights are multiplied again at the end.
Graph step_net() {
    Graph graph = record({f32({1, width}), f32({3, width}), f32({4, 1})}, [](const Tensors& x) {
        Tensor next = ops::matmul(x[0], ramp({width, width}, 1));
        Tensor present = ops::concat({x[1], next}, {.axis = 0});
        Tensor mean = ops::sum(ops::mul(present, x[2]), {.axes = {0}, .keepdims = true});
        return Tensors{ops::matmul(ops::relu(mean), ramp({width, width}, 2)), present};
    });
    auto declare = [&](size_t input, std::string name) {
        graph.value(graph.inputs()[input]).dimensions = {{.axis = 0, .name = std::move(name), .bounds = {}}};
    };
    declare(0, "new");
    declare(1, "past");
    declare(2, "past + new");
    return graph;
}

Tensors inputs_of(int64_t past, int64_t mask) {
    return {ramp({1, width}, int(past)), ramp({past, width}, 3), ramp({mask, 1}, 5)};
}

// Compiled for these sizes alone.
void expect_right(Executable& executable, const Tensors& inputs) {
    Tensors y = executable.run(inputs), wanted = Executable(step_net(), {}).run(inputs);
    for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i].spec(), wanted[i].spec());
        for (int64_t k = 0; k < y[i].spec().numel(); ++k)
            ASSERT_NEAR(y[i].data<float>()[k], wanted[i].data<float>()[k], 1e-4F) << i << ' ' << k;
    }
}

// The programs that runs of the executable compile.
uint64_t programs_of(Executable& executable, int64_t first, int64_t last) {
    const uint64_t before = next_graph_id();
    for (int64_t past = first; past <= last; ++past) executable.run(inputs_of(past, past + 1));
    return next_graph_id() - before - 1;
}

TEST(OpenGraph, RunsAtAllSizes) {
    Executable executable(step_net(), {});
    for (int64_t past : {3, 4, 5, 6, 40, 2, 3}) expect_right(executable, inputs_of(past, past + 1));
    EXPECT_EQ(programs_of(executable, 7, 39), 0U);
}

TEST(OpenGraph, RunsAtSizesThatConstantsHappenToHave) {
    Executable executable(step_net(), {});
    for (int64_t past : {3, 4, 5}) executable.run(inputs_of(past, past + 1));
    EXPECT_EQ(programs_of(executable, width - 2, width + 2), 0U);
    expect_right(executable, inputs_of(width, width + 1));
}

// One step of a model with a table of weights by position: those of the past, and the next one.
constexpr int64_t places = 24;
Graph net_with_table() {
    Graph graph = record({f32({1, width}), f32({3, width})}, [](const Tensors& x) {
        Tensor next = ops::matmul(x[0], ramp({width, width}, 1));
        Tensor present = ops::concat({x[1], next}, {.axis = 0});
        Tensor end = ops::shape_of(present, {.axis = 0});
        Tensor rows =
            ops::slice({ramp({places, width}, 4), end}, {.items = {0, 0, ops::bound_from_input, 1, 0}});
        Tensor mean = ops::sum(ops::mul(present, rows), {.axes = {0}, .keepdims = true});
        return Tensors{ops::matmul(ops::relu(mean), ramp({width, width}, 2)), present};
    });
    graph.value(graph.inputs()[1]).dimensions = {{.axis = 0, .name = "past", .bounds = {}}};
    return graph;
}

TEST(OpenGraph, RunsAtAllSizesThatATableHolds) {
    const Graph graph = net_with_table();
    Executable executable(graph, {});
    auto run = [&](int64_t past) {
        Tensors x{ramp({1, width}, int(past)), ramp({past, width}, 3)};
        Tensors y = executable.run(x), wanted = Executable(graph, {}).run(x);
        for (int64_t k = 0; k < y[0].spec().numel(); ++k)
            ASSERT_NEAR(y[0].data<float>()[k], wanted[0].data<float>()[k], 1e-4F) << past << ' ' << k;
    };
    for (int64_t past : {3, 4, 5, 2, int(places) - 2, int(places) - 1}) run(past);
    const uint64_t before = next_graph_id();
    for (int64_t past = 1; past < places; ++past) {
        Tensors x{ramp({1, width}, 1), ramp({past, width}, 3)};
        executable.run(x);
    }
    EXPECT_EQ(next_graph_id() - before - 1, 0U);
    EXPECT_THROW(run(places), UserError);
    auto open = open_graph(graph, {0, 1}, {});
    ASSERT_TRUE(open);
    EXPECT_EQ(open->inputs[1].shape.extent(0).upper(), places - 1);
}

TEST(OpenGraph, KeepsResultsAcrossRuns) {
    Executable executable(step_net(), {});
    for (int64_t past : {3, 4, 5}) executable.run(inputs_of(past, past + 1));
    Tensors seven = executable.run(inputs_of(7, 8));
    std::vector<float> kept(seven[0].data<float>(), seven[0].data<float>() + width);
    executable.run(inputs_of(9, 10));
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), seven[0].data<float>()));
    // A present is the past of the next run.
    Tensors x = inputs_of(8, 9);
    x[1] = seven[1];
    expect_right(executable, x);
}

TEST(OpenGraph, CompilesSizesThatItDoesNotHoldFor) {
    Executable executable(step_net(), {});
    for (int64_t past : {3, 4, 5}) expect_right(executable, inputs_of(past, past + 1));
    expect_right(executable, inputs_of(9, 1));  // the mask broadcasts
    Tensors none{ramp({1, width}, 1), constant({0, width}, {}), ramp({1, 1}, 5)};
    expect_right(executable, none);
    EXPECT_THROW(executable.run(inputs_of(9, 7)), UserError);
    expect_right(executable, inputs_of(9, 10));
}

TEST(OpenGraph, NeedsDeclaredDimensions) {
    Graph graph = step_net();
    for (ValueId id : graph.inputs()) graph.value(id).dimensions.clear();
    Executable executable(graph, {});
    for (int64_t past : {3, 4, 5}) executable.run(inputs_of(past, past + 1));
    EXPECT_GT(programs_of(executable, 6, 7), 0U);
}

TEST(OpenGraph, RefusesWeightsThatEachSizeWouldPrepare) {
    Graph graph = record({f32({3, width})}, [](const Tensors& x) {
        return Tensors{ops::matmul(x[0], ramp({width, width}, 1))};
    });
    graph.value(graph.inputs()[0]).dimensions = {{.axis = 0, .name = "batch", .bounds = {}}};
    EXPECT_FALSE(open_graph(graph, {1}, {}));
}

TEST(OpenGraph, ChangedAxesAreThoseOfDeclaredDimensions) {
    Graph graph = step_net();
    TensorSpecs a{f32({1, width}), f32({3, width}), f32({4, 1})}, b = a;
    b[1].shape[0] = 7;
    EXPECT_EQ(changed_axes(graph, a, b), (OpenAxes{0, 1, 0}));
    b[1].shape[1] = 7;
    EXPECT_EQ(changed_axes(graph, a, b), std::nullopt);
    b[1] = {DType::f16, a[1].shape, {}};
    EXPECT_EQ(changed_axes(graph, a, b), std::nullopt);
}

}  // namespace
}  // namespace mge::test
