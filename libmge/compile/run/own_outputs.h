// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/graph/graph.h"

namespace mge {

// Lets each output of a graph be memory of its own that the last step writes: what is an input, a constant, a
// view of one, or lies where another output does gets a copy.
Graph give_outputs_own_memory(Graph graph);

}  // namespace mge
