// SPDX-License-Identifier: Apache-2.0
#pragma once
// Control dependencies: an order between values that do not depend on each other. They are `wait_for`
// operators, so gradients, passes, schedules, recomputation and files preserve them.

#include <map>
#include <string_view>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns the graph in which each key of `others` is read only after the values mapped to it are computed,
// even if those are unused. Value ids stay; nodes may be reordered. Throws UserError for unknown values and
// for cycles.
MGE_API Graph order_after(Graph graph, const std::map<ValueId, std::vector<ValueId>>& others);

// Returns the nodes in topological order, with effects in their original order, and otherwise as they are.
// Throws UserError in the name of `who` for a cycle.
MGE_API std::vector<NodeId> dependency_order(const Graph& graph, std::string_view who);

}  // namespace mge
