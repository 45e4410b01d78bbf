// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regions: sets of nodes that a pass makes into one. They serve passes whose limits depend on everything that
// a region has collected, which no pattern (graph/match.h) expresses.

#include <functional>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns the node that computes `result` and those before it, the last node first. The region grows from
// readers to what they read: `accepts` is called for each value that the region reads and a node computes,
// with the final number of those readings. The node joins if one of its values is accepted.
std::vector<NodeId> grow_region(const Graph& graph, ValueId result,
                                const std::function<bool(ValueId value, int readings)>& accepts);

// Returns the values that the nodes read and do not compute, each once, in the order of reading.
std::vector<ValueId> inputs_of_region(const Graph& graph, std::span<const NodeId> region);

}  // namespace mge
