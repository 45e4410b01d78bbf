// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns, by value, the nodes that read it in order, once per reading input.
std::vector<std::vector<NodeId>> readers_of_values(const Graph& graph);

}  // namespace mge
