// SPDX-License-Identifier: Apache-2.0
#pragma once
// The graphs that operators hold, as graphs.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/op/subgraph.h"

namespace mge {

// Everything in it lies where the operator runs, but what its own operators move.
class MGE_API InnerGraph final : public Subgraph {
public:
    explicit InnerGraph(Graph graph);

    const Graph& graph() const { return graph_; }
    size_t input_count() const override { return graph_.inputs().size(); }
    size_t output_count() const override { return graph_.outputs().size(); }
    TensorSpecs infer(std::span<const TensorSpec> inputs) const override;
    Tensors apply(std::span<const Tensor> inputs) const override;
    SubgraphRef gradient(const std::vector<size_t>& of, const std::vector<size_t>& wrt) const override;
    SubgraphRef with_constants(const std::map<size_t, Tensor>& values) const override;
    Footprint footprint(std::span<const TensorSpec> inputs) const override;
    bool has_effect() const override { return has_effect_; }
    uint64_t hash() const override;

private:
    Graph graph_;
    bool has_effect_;
    mutable std::once_flag hashed_;
    mutable uint64_t hash_ = 0;
    // Inference is asked for again and again with the same specs.
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<TensorSpecs, TensorSpecs>> inferred_;
};

MGE_API SubgraphRef make_subgraph(Graph graph);
MGE_API const Graph& graph_of(const SubgraphRef& subgraph);

// The graphs that an operator holds, by the names of its parameters; most hold none.
struct HeldGraph {
    std::string_view parameter;
    SubgraphRef graph;
};
MGE_API std::vector<HeldGraph> held_graphs(const OpInfo& op, const void* params);
MGE_API std::vector<HeldGraph> held_graphs(const Node& node);

// A graph, or one that an operator of it holds, and what stands before the names of its values:
// "scan#1/body/".
struct PathGraph {
    std::string path;
    const Graph* graph;
};
// All of them, the graph itself first.
MGE_API std::vector<PathGraph> with_inner_graphs(const Graph& graph);
// The value of that path: "scan#1/body/add#2", by value_label(). Null when there is none.
MGE_API const Value* find_value(const Graph& graph, std::string_view path);

// The operator, or one in a graph that it holds, does something beyond its results.
MGE_API bool has_effect(const OpInfo& op, const void* params);
MGE_API bool has_effect(const Node& node);

// A graph of what `function` does, where other tensors than its own become further inputs: `captured` holds
// them, those that are there already as well. Numbers of the program become constants. `place`: where what
// is given for the inputs lies.
MGE_API SubgraphRef capture_subgraph(std::span<const TensorSpec> inputs, Tensors& captured,
                                     const std::function<Tensors(std::span<const Tensor>)>& function,
                                     DeviceId place = {});
}  // namespace mge
