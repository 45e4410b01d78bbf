// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// The specs of values of a graph, in their order.
MGE_API TensorSpecs specs_of(const Graph& graph, const std::vector<ValueId>& values);

// A node of `source` once more, at the end of another graph, with these parameters and
// inputs, which are values there. It does the same work: specs and places, names and origins of what it
// computes are the original's.
MGE_API NodeId copy_node(const Graph& source, const Node& node, Graph& target,
                         std::shared_ptr<const void> params, std::vector<ValueId> inputs);

}  // namespace mge
