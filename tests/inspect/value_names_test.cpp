// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/value_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"

namespace mge {
namespace {

TEST(NameValues, ValuesOfOperatorsWithOneNameDiffer) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2}, {}}, "x");
    InterpreterScope scope(builder);
    Tensor y = x;
    for (int i = 0; i < 4; ++i) y = ops::neg(y);
    builder.set_outputs({ops::relu(y)});
    Graph graph = builder.take();
    for (NodeId i = 0; i < 3; ++i) graph.node(i).name = "n";
    // Looks like the second one.
    graph.value(graph.node(3).outputs[0]).name = "n#1";
    graph = name_values(graph);
    std::vector<std::string> names;
    for (NodeId i = 0; i < 4; ++i) names.push_back(graph.value(graph.node(i).outputs[0]).name);
    EXPECT_THAT(names, testing::ElementsAre("n", "n#1[1]", "n#2", "n#1"));
}

}  // namespace
}  // namespace mge
