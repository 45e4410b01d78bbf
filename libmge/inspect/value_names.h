// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a model's values for inspection.

#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/graph/graph.h"

namespace mge {

// Gives every value without a name that of its operator: "relu#12" is that of node 12 of the source graph.
// Passes keep the names and origins of values, so the same value has the same name in every program of the
// model, optimised ahead of time or not. Inputs and outputs of the graph are not renamed.
MGE_API Graph name_values(Graph graph);

// Unique labels by value id.
MGE_API std::vector<std::string> value_labels(const Program& program);

// Keys that identify a value in two graphs after the passes: by value, the best key first; empty for a value
// without identity. A copy in another layout, or a rounded value, has the keys of its source.
using ValueKeys = std::vector<std::vector<std::string>>;
// By position in the source graph, and by name: for files, which have one of them.
MGE_API ValueKeys keys_for_files(const Graph& graph);
MGE_API std::string origin_key(const ValueOrigin& origin);
// By position in the source graph.
MGE_API ValueKeys keys_by_origin(const Graph& graph);
// The same for a graph of another source, in the numbers of this one: `numbers` maps the numbers there; −1
// means no counterpart. `inputs` are the numbers of its inputs there.
MGE_API ValueKeys keys_by_origin(const Graph& graph, const std::vector<NodeId>& numbers,
                                 const std::vector<size_t>& inputs);

}  // namespace mge
