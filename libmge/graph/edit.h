// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes that people make to a graph by hand. Ids of values stay, so whoever holds some can go on; nodes may
// stand in another order, and what nothing needs any more stays until a pass drops it.

#include <map>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Whoever reads a key, outputs of the graph too, reads the value beside it from now on; but for what that
// value is itself computed from, so that something may be put behind a value: {x: relu(x)}. Specs are
// inferred anew. UserError when a value would have to be there before itself, and when an operator refuses
// what it reads now.
MGE_API Graph replace_values(Graph graph, const std::map<ValueId, ValueId>& by);

// The node reads other values, as many as its operator takes; absent inputs between them are no_value.
// UserError as above.
MGE_API Graph with_inputs(Graph graph, NodeId node, std::vector<ValueId> inputs);

// Infers all specs for what the inputs are now. Unlike infer_shapes it writes nothing else: a target of a
// reshape that follows from the shape of an input still does. UserError when an operator refuses.
MGE_API Graph infer_anew(Graph graph);

// Computes `values` of the source once more at the end of the target, with inputs and constants of its own;
// where `known` has a value of the source, what stands beside it is taken; it gets what was copied, too.
// Gives where they are. The target may be the source: then what depends on no key stays what it is.
MGE_API std::vector<ValueId> copy_values(Graph& target, const Graph& source,
                                         const std::vector<ValueId>& values,
                                         std::map<ValueId, ValueId>& known);

// By node, whether `values` need it.
MGE_API std::vector<bool> needed_nodes(const Graph& graph, const std::vector<ValueId>& values);

}  // namespace mge
