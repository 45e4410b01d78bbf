// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program as data: nodes in topological order, values in static single assignment. A Graph is a plain
// value; passes take one and return another.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/op/op.h"
#include "libmge/tensor/tensor.h"

namespace mge {

using ValueId = int;
using NodeId = int;
inline constexpr ValueId no_value = -1;

// Passes replace, join and drop operators; who a value is and whose work a node does stays known by where it
// comes from: the source graph, as somebody wrote it down before any pass. Its operators are numbered there,
// and model files keep the numbers (graph/origins.h).
struct SourceNode {
    NodeId id = -1;
    std::string op, name;  // the name of its first output when it has none itself; empty: neither has one
    int outputs = 1;
    // Equal for operators that do the same thing in two graphs of one network, in training or not.
    uint64_t kind = 0;
    bool operator==(const SourceNode&) const = default;
};

// Output `output` of an operator of the source graph.
struct ValueOrigin {
    NodeId node = -1;
    int output = 0;
    auto operator<=>(const ValueOrigin&) const = default;
};

// A value is a graph input, a constant (its Tensor is here, for the host), or an output of a node. `spec` is
// what shape inference says for the graph's present input shapes; its shape is unknown when only a run can
// tell.
struct Value {
    TensorSpec spec;
    std::string name;
    NodeId producer = -1;  // -1: an input or a constant
    int output_index = 0;
    Tensor constant;
    bool is_input = false;
    // Where it lies; see place.h for the default place.
    DeviceId device;
    // The values of the source graph that this one is, ascending: several when they are equal, none for what
    // passes made up.
    std::vector<ValueOrigin> origins;
    bool is_constant() const { return bool(constant); }
};

struct Node {
    const OpInfo* op = nullptr;
    std::shared_ptr<const void> params;
    std::vector<ValueId> inputs;  // no_value: an absent optional input
    std::vector<ValueId> outputs;
    std::string name;
    // The nodes whose work this one does, by their ids in the graph that compilation began with; ascending.
    // Filled in by the passes, empty in a graph that has seen none and for nodes that they made up.
    std::vector<NodeId> sources;
    // The same in the source graph.
    std::vector<NodeId> origins;
    template <class P>
    const P& as() const {
        return *static_cast<const P*>(params.get());
    }
};

class MGE_API Graph {
public:
    ValueId add_input(const TensorSpec& spec, std::string name, DeviceId device = {});
    // Its value is kept in host memory, wherever it lies for the operators: where the tensor does, if nothing
    // else is said.
    ValueId add_constant(const Tensor& value, std::string name = {});
    ValueId add_constant(const Tensor& value, std::string name, DeviceId device);
    // Appends a node and infers its outputs and where they lie: at the default place when it has no inputs.
    // Inputs have to exist already, so the order stays topological. With `known_outputs` the specs are taken
    // instead (values whose shapes were seen while tracing), with `known_place` the place.
    NodeId add_node(const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
                    std::string name = {}, const TensorSpecs* known_outputs = nullptr,
                    const DeviceId* known_place = nullptr);
    void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
    void set_inputs(std::vector<ValueId> inputs) { inputs_ = std::move(inputs); }

    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<Value>& values() const { return values_; }
    const std::vector<ValueId>& inputs() const { return inputs_; }
    const std::vector<ValueId>& outputs() const { return outputs_; }
    const Node& node(NodeId id) const { return nodes_.at(size_t(id)); }
    const Value& value(ValueId id) const { return values_.at(size_t(id)); }
    // Where a node's outputs lie.
    const DeviceId& place(const Node& node) const { return value(node.outputs.at(0)).device; }
    Node& node(NodeId id) { return nodes_.at(size_t(id)); }
    Value& value(ValueId id) { return values_.at(size_t(id)); }

    // Leaves the values only: for those who have taken from the nodes what they need.
    void forget_nodes() { std::vector<Node>().swap(nodes_); }

    // The operators of the source graph by number; null: this graph is its own source.
    const std::shared_ptr<const std::vector<SourceNode>>& source_nodes() const { return source_nodes_; }
    void set_source_nodes(std::shared_ptr<const std::vector<SourceNode>> nodes) {
        source_nodes_ = std::move(nodes);
    }

    // How often each value is read, graph outputs included.
    std::vector<int> use_counts() const;

private:
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::vector<ValueId> inputs_, outputs_;
    std::shared_ptr<const std::vector<SourceNode>> source_nodes_;
};

// Re-infers every spec for new input specs (in the order of graph.inputs()), folds host inputs whose values
// these shapes decide into the parameters, and leaves shapes unknown that only a run can tell. UserError when
// an operator refuses them.
MGE_API Graph infer_shapes(Graph graph, const TensorSpecs& inputs);

// Checks every rule of the structure: ids in range, topological order, one producer, specs equal to what
// inference says (layouts apart: those are chosen, not inferred), parameters present, outputs exist.
// InternalError that names the node.
MGE_API void verify(const Graph& graph);

MGE_API std::string to_text(const Graph& graph);
MGE_API std::string to_json(const Graph& graph);
MGE_API std::string to_dot(const Graph& graph);

// Appends the gradient of sum(outputs · dys) with respect to `xs`; returns its values in the order of xs,
// no_value where a gradient does not exist. `ys` and `dys` are values of the graph.
MGE_API std::vector<ValueId> add_gradient(Graph& graph, std::vector<ValueId> ys, std::vector<ValueId> dys,
                                          std::vector<ValueId> xs);

}  // namespace mge
