// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/region.h"

#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge {
namespace {

using test::f32, test::record;
using Nodes = std::vector<NodeId>;

// relu (0), split (1), exp (2), neg (3), add (4), and mul (5) of everything.
Graph diamond() {
    return record({f32({4})}, [](const Tensors& x) {
        Tensor a = ops::relu(x[0]);
        Tensors halves = ops::split(a, {.axis = 0, .sizes = {2, 2}});
        Tensor c = ops::exp(halves[0]), d = ops::neg(halves[1]);
        return Tensors{ops::mul(ops::add(c, d), c)};
    });
}
Nodes grown(const Graph& graph, const std::function<bool(ValueId, int)>& accepts) {
    return grow_region(graph, graph.outputs()[0], accepts);
}

TEST(Region, GrowsFromReadersToWhatTheyRead) {
    Graph graph = diamond();
    EXPECT_EQ(grown(graph, [](ValueId, int) { return true; }), (Nodes{5, 4, 3, 2, 1, 0}));
    EXPECT_EQ(grown(graph, [](ValueId, int) { return false; }), Nodes{5});
    ValueId sum = graph.node(4).outputs[0];
    EXPECT_EQ(grown(graph, [&](ValueId value, int) { return value != sum; }), (Nodes{5, 2, 1, 0}));
    ValueId half = graph.node(1).outputs[1];
    EXPECT_EQ(grown(graph, [&](ValueId value, int) { return value != half; }), (Nodes{5, 4, 3, 2, 1, 0}));
}

TEST(Region, CountsReadingsWithinTheRegion) {
    Graph graph = diamond();
    auto uses = graph.use_counts();
    std::vector<int> seen(uses.size());
    grown(graph, [&](ValueId value, int readings) {
        seen[size_t(value)] = readings;
        return true;
    });
    for (NodeId id : {0, 1, 2, 3, 4})
        for (ValueId value : graph.node(id).outputs) EXPECT_EQ(seen[size_t(value)], uses[size_t(value)]);
    // Without the sum, exp has a reader outside of the region.
    ValueId sum = graph.node(4).outputs[0];
    auto is_inner = [&](ValueId value, int readings) {
        return value != sum && readings == uses[size_t(value)];
    };
    EXPECT_EQ(grown(graph, is_inner), Nodes{5});
}

TEST(Region, InputsAreReadAndNotComputed) {
    Graph graph = diamond();
    auto& halves = graph.node(1).outputs;
    EXPECT_EQ(inputs_of_region(graph, Nodes{2, 3, 4, 5}), halves);
    EXPECT_EQ(inputs_of_region(graph, Nodes{4, 5}),
              (std::vector{graph.node(2).outputs[0], graph.node(3).outputs[0]}));
    EXPECT_EQ(inputs_of_region(graph, Nodes{0}), graph.inputs());
    EXPECT_TRUE(inputs_of_region(graph, {}).empty());
}

}  // namespace
}  // namespace mge
