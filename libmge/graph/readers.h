// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// By value, the nodes that read it, in their order; once per input that reads it.
std::vector<std::vector<NodeId>> readers_of_values(const Graph& graph);

}  // namespace mge
