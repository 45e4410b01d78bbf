// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns the specs of the values, in their order.
MGE_API TensorSpecs specs_of(const Graph& graph, const std::vector<ValueId>& values);

// Appends a copy of a node of `source` to another graph, with the given parameters and inputs (values of
// `target`). Specs, devices, names and origins of the outputs are copied.
MGE_API NodeId copy_node(const Graph& source, const Node& node, Graph& target,
                         std::shared_ptr<const void> params, std::vector<ValueId> inputs);

}  // namespace mge
