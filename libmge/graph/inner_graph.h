// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs nested in operators.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/op/subgraph.h"

namespace mge {

// Everything inside is on the device of the operator, except results of data movement operators inside.
class MGE_API InnerGraph final : public Subgraph {
public:
    explicit InnerGraph(Graph graph);

    const Graph& graph() const { return graph_; }
    size_t input_count() const override { return graph_.inputs().size(); }
    size_t output_count() const override { return graph_.outputs().size(); }
    TensorSpecs infer(Specs inputs) const override;
    Tensors apply(std::span<const Tensor> inputs) const override;
    SubgraphRef gradient(const std::vector<size_t>& of, const std::vector<size_t>& wrt) const override;
    SubgraphRef with_constants(const std::map<size_t, Tensor>& values) const override;
    Footprint footprint(Specs inputs) const override;
    bool has_effect() const override { return has_effect_; }
    uint64_t hash() const override;

private:
    Graph graph_;
    bool has_effect_;
    mutable std::once_flag hashed_;
    mutable uint64_t hash_ = 0;
    // A cache, because inference is repeated with the same specs.
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<TensorSpecs, TensorSpecs>> inferred_;
};

MGE_API SubgraphRef make_subgraph(Graph graph);
MGE_API const Graph& graph_of(const SubgraphRef& subgraph);

// A graph nested in an operator and the parameter that holds it.
struct HeldGraph {
    std::string_view parameter;
    SubgraphRef graph;
};
MGE_API std::vector<HeldGraph> held_graphs(const OpInfo& op, const void* params);
MGE_API std::vector<HeldGraph> held_graphs(const Node& node);

// A graph, or a nested one, with the prefix of its values' names: "scan#1/body/".
struct PathGraph {
    std::string path;
    const Graph* graph;
};
// Returns the graph itself, followed by all graphs nested in it.
MGE_API std::vector<PathGraph> with_inner_graphs(const Graph& graph);
// Returns the value with that path, such as "scan#1/body/add#2" (value_label()), or nullptr.
MGE_API const Value* find_value(const Graph& graph, std::string_view path);

// True if the operator, or one nested in it, has a side effect.
MGE_API bool has_effect(const OpInfo& op, const void* params);
MGE_API bool has_effect(const Node& node);

// Applies the operators of a graph to values of its inputs, which may be null, and returns its outputs. Frees
// each value after its last use.
MGE_API Tensors apply_graph(const Graph& graph, std::span<const Tensor> inputs);

// Returns a graph of `function`, in which external tensors become additional inputs: they are appended to
// `captured`, which may have entries already. Numbers of the program become constants. `place` is the device
// of the input values.
MGE_API SubgraphRef capture_subgraph(Specs inputs, Tensors& captured,
                                     const std::function<Tensors(std::span<const Tensor>)>& function,
                                     DeviceId place = {});
}  // namespace mge
