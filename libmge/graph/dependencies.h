// SPDX-License-Identifier: Apache-2.0
#pragma once
// An order between values that nothing computes from each other. It is written down as an operator
// (`wait_for`), so that gradients, passes, schedules, recomputation and files keep it like any other.

#include <map>
#include <string_view>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// The graph in which nobody reads a value of `others` (by their ids) before what stands beside it has been
// computed, whether that is read or not. Ids of values stay; nodes may stand in another order. UserError for
// values that do not exist, and when one would have to wait for itself.
MGE_API Graph order_after(Graph graph, const std::map<ValueId, std::vector<ValueId>>& others);

// The nodes, each behind those whose values it reads, effects in their order; else as they stand. UserError
// of `who` when one would have to wait for itself.
MGE_API std::vector<NodeId> dependency_order(const Graph& graph, std::string_view who);

}  // namespace mge
