// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns, by value, the nodes that read it in order, once per reading input.
std::vector<std::vector<NodeId>> readers_of_values(const Graph& graph);

// Returns the node that computes the value; nullptr for an absent value, an input or a constant.
inline const Node* maker_of(const Graph& graph, ValueId value) {
    return value == no_value ? nullptr : graph.find_node(graph.value(value).producer);
}

}  // namespace mge
