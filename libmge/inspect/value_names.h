// SPDX-License-Identifier: Apache-2.0
#pragma once
// What inspection calls the values of a model.

#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/graph/graph.h"

namespace mge {

// Gives every value without a name that of the operator it comes from: "relu#12" is that of node 12 of the
// source graph. Passes keep the names of values and where they come from, so the same value has the same name
// in every program of the model, optimised ahead of time or not. Inputs and outputs of the graph stay as they
// are.
MGE_API Graph name_values(Graph graph);

// By value id; no two are equal.
MGE_API std::vector<std::string> value_labels(const Program& program);

// What tells the values of two graphs that went through the passes apart, and together: by value, the best
// first; none when nothing tells what it is. A value that only lies otherwise, or is rounded, has the keys of
// the one it was made from.
using ValueKeys = std::vector<std::vector<std::string>>;
// By place in the source graph, and by name: for files, which have one or the other.
MGE_API ValueKeys keys_for_files(const Graph& graph);
MGE_API std::string origin_key(const ValueOrigin& origin);
// By place in the source graph.
MGE_API ValueKeys keys_by_origin(const Graph& graph);
// The same for a graph of another source, in the numbers of this one: `numbers` by number there; −1 has none.
// `inputs` are the numbers of its inputs there.
MGE_API ValueKeys keys_by_origin(const Graph& graph, const std::vector<NodeId>& numbers,
                                 const std::vector<size_t>& inputs);

}  // namespace mge
