// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the values of a graph lie. What nobody put anywhere lies at the default place, a DeviceId with
// `is_default`; where that is, whoever compiles the graph says. All else follows from the inputs, the
// constants and the operators that move data, as shapes follow from shapes.

#include <span>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Puts what lies at the default place there. UserError when an operator's inputs then lie at different ones.
MGE_API Graph place(Graph graph, DeviceId where);

// Lets the inputs lie where the tensors do that are to be given for them, and all
// that follows from them. UserError as above.
MGE_API Graph place_inputs(Graph graph, std::span<const DeviceId> inputs);

// The places of a node's inputs, null for absent ones.
std::vector<const DeviceId*> input_places(const Graph& graph, std::span<const ValueId> inputs);

}  // namespace mge
