// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model computed layer by layer, with as little memory as that can be done with: each value is allocated
// when its operator runs and freed after its last reader, and an algorithm's packed weights live for one step
// only. The passes, layouts and algorithms are those that a Program with the same options has; only the
// memory plan is not.

#include <string>
#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/inspect/inside_values.h"

namespace mge {

class MGE_API LayerWalk {
public:
    // `inputs` in the order of the graph; their shapes are those that the walk is for.
    LayerWalk(const Graph& graph, const CompileOptions& options, const Tensors& inputs);

    const Graph& graph() const { return graph_; }  // after the passes
    size_t step_count() const { return schedule_.steps.size(); }
    const Node& node(size_t step) const { return graph_.node(schedule_.steps[step].node); }

    // How many steps have run. Values that the last one read or wrote are there until the next run_next().
    size_t done() const { return done_; }
    void run_next();
    const std::string& algorithm() const { return algorithm_; }  // of the last step

    // As it lies in memory, which may be in another layout than the plain one; null when it is not there.
    const Tensor& value(ValueId id) const { return values_[size_t(id)]; }
    bool is_read_later(ValueId id) const;

    // The outputs of a step for these inputs instead of its own (in the same specs; null: absent).
    Tensors run_alone(size_t step, const Tensors& inputs);
    // The same for a step that holds graphs, as a program of its own: `inside` is asked who is told of them.
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
    std::vector<NodeId> last_reader_;  // by value; −1: none, the number of nodes: an output of the graph
    NodeId next_node_ = 0;
    size_t done_ = 0;
    std::string algorithm_;
};

}  // namespace mge
