// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices of the values of a graph. Values that the user has not placed are on the default device, a DeviceId
// with `is_default`, which is set at compilation. Other devices follow from the inputs, the constants and the
// data movement operators, like shapes from shapes.

#include <span>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Replaces the default device. Throws UserError if the inputs of an operator are on different devices then.
MGE_API Graph place(Graph graph, DeviceId where);

// Moves the inputs to the devices of the tensors that will be passed for them, and infers the rest. Throws
// UserError like place().
MGE_API Graph place_inputs(Graph graph, std::span<const DeviceId> inputs);

// Returns the devices of a node's inputs, nullptr for absent ones.
std::vector<const DeviceId*> input_places(const Graph& graph, std::span<const ValueId> inputs);

}  // namespace mge
