// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/copy_node.h"

#include <gtest/gtest.h>

#include "libmge/device/default_device.h"
#include "libmge/graph/origins.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

TEST(CopyNode, DoesTheSameWorkInAnotherGraph) {
    Graph graph =
        record({f32({2, 3}), f32({2, 3})}, [](const Tensors& x) { return Tensors{ops::add(x[0], x[1])}; });
    note_origins(graph);
    graph.node(0).name = "sum";
    graph.node(0).sources = {4, 7};
    ValueId y = graph.node(0).outputs[0];
    graph.value(y).name = "y";
    graph.value(y).device = {.index = 1, .is_default = false};
    Graph other;
    other.add_input(f32({5}), "unrelated");
    ValueId a = other.add_input(f32({2, 3}), "a");
    NodeId id = copy_node(graph, graph.node(0), other, graph.node(0).params, {a, a});
    auto &copy = other.node(id), &original = graph.node(0);
    EXPECT_EQ(copy.op, original.op);
    EXPECT_EQ(copy.inputs, (std::vector<ValueId>{a, a}));
    EXPECT_EQ(copy.name, "sum");
    EXPECT_EQ(copy.sources, original.sources);
    EXPECT_EQ(copy.origins, original.origins);
    auto &made = other.value(copy.outputs[0]), &from = graph.value(y);
    EXPECT_EQ(made.spec, from.spec);
    EXPECT_EQ(made.name, "y");
    EXPECT_TRUE(made.device == from.device);
    EXPECT_EQ(made.origins, from.origins);
    EXPECT_EQ(made.producer, id);
}

}  // namespace
}  // namespace mge::test
