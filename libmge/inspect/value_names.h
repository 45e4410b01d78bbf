// SPDX-License-Identifier: Apache-2.0
#pragma once
// What inspection calls the values of a model.

#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/graph/graph.h"

namespace mge {

// Gives every value without a name that of its node, or "relu#12": operator and number of the node that makes
// it. Passes keep the names of values, so the same value has the same name in every program of the model.
// Inputs and outputs of the graph stay as they are.
MGE_API Graph name_values(Graph graph);

// Two graphs are the same network when their nodes apply the same operators in the same order: then names
// made by name_values mean the same in both.
MGE_API bool is_same_network(const Graph& a, const Graph& b);

// The name of a value for people, never empty.
MGE_API std::string value_label(const Graph& graph, ValueId id);
// By value id; no two are equal.
MGE_API std::vector<std::string> value_labels(const Program& program);

}  // namespace mge
