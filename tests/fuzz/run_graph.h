// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/graph/graph.h"

namespace mge::fuzz {

// Compiles and runs a small graph, and looks at the shapes and dtypes of what comes out. The options and the
// values of its inputs follow from `choice`.
void run_graph(const Graph& graph, uint64_t choice);

// Runs of run_graph in this process: an error ends a run early.
struct GraphRuns {
    long begun = 0, finished = 0;
};
GraphRuns graph_runs();

}  // namespace mge::fuzz
