// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trades work for memory: values that are kept for long (of a forward pass, for the backward pass) are freed
// after their last early reader and computed again before their first late one.
//
// The turn is the step at which most bytes are alive. The nodes before it are cut into segments. Values that
// cross a cut are kept. All other values that nodes after the turn read are computed again, segment by
// segment, from the kept ones. With n values and √n segments about 2·√n are alive at once, for one more
// forward pass. The cuts are searched: a segment ends when the values it would have kept exceed a threshold.
// For each threshold, and then (if requested) for random changes to the best cuts, the arena's lower bound is
// simulated. In the end, segments that need not be repeated are left alone.
//
// Operators that draw random numbers or update state run once, as do those whose shapes are known only at run
// time.

#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

struct Recomputation {
    Graph graph;
    std::vector<NodeId> repeated;     // nodes that repeat the work of earlier ones, ascending
    size_t segments = 0;              // repeated segments
    size_t plain_peak = 0, peak = 0;  // bytes alive at once, before and after
};

// `endpoints` are the only nodes after which a segment may end, by their ids in the original graph
// (Node::sources); empty: any node.
Recomputation recompute(Graph graph, const CompileOptions& options, const std::vector<NodeId>& endpoints);

// Returns the nodes that recompute.endpoints names by themselves or by their values. Throws UserError for an
// unknown name.
std::vector<NodeId> find_endpoints(const Graph& graph, const CompileOptions& options);

}  // namespace mge
