// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/graph/graph.h"
#include "libmge/op/footprint.h"

namespace mge {

// What one run of a node has to compute and to move (op/footprint.h).
MGE_API Footprint footprint(const Graph& graph, const Node& node);

}  // namespace mge
