// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/graph/graph.h"
#include "libmge/op/footprint.h"

namespace mge {

// Returns the arithmetic and data movement of one run of a node (op/footprint.h).
MGE_API Footprint footprint(const Graph& graph, const Node& node);

}  // namespace mge
