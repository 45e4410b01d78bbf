// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/graph/graph.h"

namespace mge {

// Gives each output of a graph its own memory, written by the last step: inputs, constants, views of these,
// and duplicates are copied.
Graph give_outputs_own_memory(Graph graph);

}  // namespace mge
