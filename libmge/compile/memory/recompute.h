// SPDX-License-Identifier: Apache-2.0
#pragma once
// Less memory for more work: values that are kept for long (those of a forward pass, for the backward pass)
// are given up after their last early reader and computed again before their first late one.
//
// The turn is the step at which most is alive. The nodes before it are cut into segments. What crosses a cut
// is kept; everything else that nodes behind the turn read is computed again, segment by segment, from what
// is kept. With n values and √n segments about 2·√n of them are alive at once, for one more forward pass.
// Where to cut is searched: a segment ends when the values that it would have kept exceed a threshold; the
// arena's lower bound of each threshold is simulated, then (if asked for) that of random changes to the best
// sets of cuts. In the end the segments that need not be computed again are left alone.
//
// Operators that draw random numbers or update state run once; so do those whose shapes only a run can tell.

#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

struct Recomputation {
    Graph graph;
    std::vector<NodeId> repeated;     // nodes that compute again what earlier ones did, ascending
    size_t segments = 0;              // that are computed again
    size_t plain_peak = 0, peak = 0;  // bytes of values alive at once, before and after
};

// `endpoints`: the nodes, by their ids in the graph that compilation began with (Node::sources), behind which
// alone a segment may end; empty: any.
Recomputation recompute(Graph graph, const CompileOptions& options, const std::vector<NodeId>& endpoints);

// The nodes of those names, or that make values of those names; UserError for a name that is not there.
std::vector<NodeId> find_endpoints(const Graph& graph, const std::vector<std::string>& names);

}  // namespace mge
