// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model computed layer by layer with minimal memory: each value is allocated when its operator runs and
// freed after its last use, and an algorithm's packed weights live for one step only. Passes, layouts and
// algorithms are the same as in a Program with equal options, but there is no memory plan.

#include <string>
#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/inspect/inside_values.h"

namespace mge {

class MGE_API LayerWalk {
public:
    // `inputs` in the order of the graph; the walk is for their shapes.
    LayerWalk(const Graph& graph, const CompileOptions& options, const Tensors& inputs);

    const Graph& graph() const { return graph_; }  // after the passes
    size_t step_count() const { return schedule_.steps.size(); }
    const Node& node(size_t step) const { return graph_.node(schedule_.steps[step].node); }

    // Number of steps that have run. Values that the last one read or wrote exist until the next run_next().
    size_t done() const { return done_; }
    void run_next();
    const std::string& algorithm() const { return algorithm_; }  // algorithm of the last step

    // The value in its memory layout, which may differ from the plain one; null if it does not exist.
    const Tensor& value(ValueId id) const { return values_[size_t(id)]; }

    // The outputs of a step for these inputs instead of its own (in the same specs; null: absent).
    Tensors run_alone(size_t step, const Tensors& inputs);
    // The same for a step with inner graphs, as a separate program: `inside` determines the observers of
    // inner runs.
    void run_inside(size_t step, const Tensors& inputs, InsideValues& inside);
    bool holds_graphs(size_t step) const { return node(step).op->traits.control; }

private:
    Tensors compute(size_t step, const Tensors& inputs);
    Tensors compute_dynamic(const Node& node, const Tensors& inputs);
    Tensors run_step(size_t step, const Tensors& inputs);
    void run_views_until(NodeId node);
    void release_values();

    Graph graph_;
    CompileOptions options_;
    Schedule schedule_;
    Tensors values_;
    std::vector<NodeId> last_reader_;  // by value; −1: not read; the number of nodes: an output of the graph
    NodeId next_node_ = 0;
    size_t done_ = 0;
    std::string algorithm_;
};

}  // namespace mge
