// SPDX-License-Identifier: Apache-2.0
#pragma once
// Manual changes to a graph. Value ids stay valid. Nodes may be reordered, and unused ones stay until a pass
// removes them.

#include <map>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Redirects readers of each key, including graph outputs, to the mapped value. Nodes that the mapped value
// depends on keep their inputs, so that {x: relu(x)} inserts a node after x. Specs are inferred anew. Throws
// UserError for a cycle, and if an operator refuses its new inputs.
MGE_API Graph replace_values(Graph graph, const std::map<ValueId, ValueId>& by);

// Replaces the inputs of a node; no_value marks absent inputs between others. Throws UserError like
// replace_values().
MGE_API Graph with_inputs(Graph graph, NodeId node, std::vector<ValueId> inputs);

// Infers all specs for the present inputs. Unlike infer_shapes(), it folds nothing into parameters: a reshape
// target that follows from an input's shape still does. Throws UserError if an operator refuses.
MGE_API Graph infer_again(Graph graph);

// Copies the computation of `values` to the end of the target, with its own inputs and constants. Values in
// `known` are mapped to target values instead of copied; copied ones are added to it. Returns the target's
// values. The target may be the source: then only nodes that depend on a key are copied.
MGE_API std::vector<ValueId> copy_values(Graph& target, const Graph& source,
                                         const std::vector<ValueId>& values,
                                         std::map<ValueId, ValueId>& known);

// Returns, by node, whether `values` depend on it.
MGE_API std::vector<bool> needed_nodes(const Graph& graph, const std::vector<ValueId>& values);

}  // namespace mge
