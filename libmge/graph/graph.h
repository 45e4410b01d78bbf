// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program as data: nodes in topological order, values in static single assignment. A Graph is a plain
// value; passes take one and return another.

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/user_data.h"
#include "libmge/op/op.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Of graphs and programs.
MGE_API uint64_t next_graph_id();

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
    // A number of its own among the graphs and programs of the process, given when it is first asked for.
    // Copies are the same graph, and so is what passes make of it.
    uint64_t id() const;
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
    // UserError when there is none; find_…: null.
    const Node& node(NodeId id) const { return nodes_[index_of("node", id, nodes_.size())]; }
    const Value& value(ValueId id) const { return values_[index_of("value", id, values_.size())]; }
    const Node* find_node(NodeId id) const {
        return size_t(id) < nodes_.size() ? &nodes_[size_t(id)] : nullptr;
    }
    const Value* find_value(ValueId id) const {
        return size_t(id) < values_.size() ? &values_[size_t(id)] : nullptr;
    }
    // Where a node's outputs lie.
    const DeviceId& place(const Node& node) const { return value(node.outputs.at(0)).device; }
    Node& node(NodeId id) { return nodes_[index_of("node", id, nodes_.size())]; }
    Value& value(ValueId id) { return values_[index_of("value", id, values_.size())]; }

    // The nodes in another order, which has to be topological: first the one of that number.
    void reorder(const std::vector<NodeId>& nodes);

    // Leaves the values only: for those who have taken from the nodes what they need.
    void forget_nodes() { std::vector<Node>().swap(nodes_); }

    // The operators of the source graph by number; null: this graph is its own source.
    const std::shared_ptr<const std::vector<SourceNode>>& source_nodes() const { return source_nodes_; }
    void set_source_nodes(std::shared_ptr<const std::vector<SourceNode>> nodes) {
        source_nodes_ = std::move(nodes);
    }

    // How often each value is read, graph outputs included.
    std::vector<int> use_counts() const;

    // What its users keep with it, as long as it, its copies or programs made of it are there.
    UserData& user_data() const { return identity_->user_data; }
    // Is another form of that graph.
    void stand_for(const Graph& other) { identity_ = other.identity_; }

private:
    [[noreturn]] static void throw_missing(const char* what, int id, size_t count);
    static size_t index_of(const char* what, int id, size_t count) {
        if (size_t(id) >= count) [[unlikely]]
            throw_missing(what, id, count);
        return size_t(id);
    }

    struct Identity {
        std::atomic<uint64_t> id{0};
        UserData user_data;
    };
    std::shared_ptr<Identity> identity_ = std::make_shared<Identity>();
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
