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
#include "libmge/graph/dimension.h"
#include "libmge/op/op.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Returns a new id for a graph or program.
MGE_API uint64_t next_graph_id();

using ValueId = int;
using NodeId = int;
inline constexpr ValueId no_value = -1;

// Passes replace, merge and remove operators. Values and nodes stay identified by their origin: the source
// graph, as it was before any pass. Its operators are numbered, and model files store the numbers
// (graph/origins.h).
struct SourceNode {
    NodeId id = -1;
    std::string op, name;  // `name`: the node's, else that of its first output, else empty
    int outputs = 1;
    // A hash, equal for operators that do the same in two graphs of one network, in training or not.
    uint64_t kind = 0;
    bool operator==(const SourceNode&) const = default;
};

// An output of an operator of the source graph.
struct ValueOrigin {
    NodeId node = -1;
    int output = 0;
    auto operator<=>(const ValueOrigin&) const = default;
};

// A graph input, a constant (`constant` is in host memory), or an output of a node. `spec` is inferred for
// the graph's present input shapes; its shape is unknown if it is known only at run time.
struct Value {
    TensorSpec spec;
    std::string name;
    NodeId producer = -1;  // -1 for an input or a constant
    int output_index = 0;
    Tensor constant;
    bool is_input = false;
    OpenDimensions dimensions;  // empty unless it is an input
    // See place.h for the default device.
    DeviceId device;
    // The values of the source graph that this value equals, ascending. Empty if a pass created it.
    std::vector<ValueOrigin> origins;
    bool is_constant() const { return bool(constant); }
};

struct Node {
    const OpInfo* op = nullptr;
    std::shared_ptr<const void> params;
    std::vector<ValueId> inputs;  // no_value for an absent optional input
    std::vector<ValueId> outputs;
    std::string name;
    // Ids of the nodes whose work this one does, in the graph that compilation began with; ascending. Set by
    // the passes: empty before any pass and for nodes that a pass created.
    std::vector<NodeId> sources;
    // The same ids in the source graph.
    std::vector<NodeId> origins;
    template <class P>
    const P& as() const {
        return *static_cast<const P*>(params.get());
    }
};

class MGE_API Graph {
public:
    // Returns an id that is unique among the graphs and programs of the process. Copies and the results of
    // passes share it.
    uint64_t id() const;
    ValueId add_input(const TensorSpec& spec, std::string name, DeviceId device = {},
                      OpenDimensions dimensions = {});
    // Stores the value in host memory. The device, where operators see the constant, defaults to the
    // tensor's.
    ValueId add_constant(const Tensor& value, std::string name = {});
    ValueId add_constant(const Tensor& value, std::string name, DeviceId device);
    // Appends a node and infers specs and device of its outputs: the default device if it has no inputs. The
    // inputs must exist already, which keeps the order topological. `known_outputs` replaces inference of the
    // specs (for shapes seen while tracing), `known_place` that of the device.
    NodeId add_node(const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
                    std::string name = {}, const TensorSpecs* known_outputs = nullptr,
                    const DeviceId* known_place = nullptr);
    void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
    void set_inputs(std::vector<ValueId> inputs) { inputs_ = std::move(inputs); }

    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<Value>& values() const { return values_; }
    const std::vector<ValueId>& inputs() const { return inputs_; }
    const std::vector<ValueId>& outputs() const { return outputs_; }
    // node() and value() throw UserError for an unknown id, find_node() and find_value() return nullptr.
    const Node& node(NodeId id) const { return nodes_[index_of("node", id, nodes_.size())]; }
    const Value& value(ValueId id) const { return values_[index_of("value", id, values_.size())]; }
    const Node* find_node(NodeId id) const {
        return size_t(id) < nodes_.size() ? &nodes_[size_t(id)] : nullptr;
    }
    const Value* find_value(ValueId id) const {
        return size_t(id) < values_.size() ? &values_[size_t(id)] : nullptr;
    }
    // The device of a node's outputs.
    const DeviceId& place(const Node& node) const { return value(node.outputs.at(0)).device; }
    Node& node(NodeId id) { return nodes_[index_of("node", id, nodes_.size())]; }
    Value& value(ValueId id) { return values_[index_of("value", id, values_.size())]; }

    // Reorders the nodes: `nodes` lists the old ids in the new order, which must be topological.
    void reorder(const std::vector<NodeId>& nodes);

    // Frees the nodes and keeps the values.
    void forget_nodes() { std::vector<Node>().swap(nodes_); }

    // The operators of the source graph by number; null if this graph is its own source.
    const std::shared_ptr<const std::vector<SourceNode>>& source_nodes() const { return source_nodes_; }
    void set_source_nodes(std::shared_ptr<const std::vector<SourceNode>> nodes) {
        source_nodes_ = std::move(nodes);
    }

    // Returns how often each value is read, counting graph outputs.
    std::vector<int> use_counts() const;

    // Data that users attach to the graph. It lives as long as the graph, a copy of it, or a program made of
    // it.
    UserData& user_data() const { return identity_->user_data; }
    // Takes over the identity of `other`, of which this graph is another form.
    void take_identity_of(const Graph& other) { identity_ = other.identity_; }

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

// Infers every spec for new input specs, in the order of graph.inputs(). Folds host inputs whose values these
// shapes determine into the parameters. Shapes known only at run time stay unknown. Throws UserError if an
// operator refuses its inputs.
MGE_API Graph infer_shapes(Graph graph, const TensorSpecs& inputs);

// Checks all invariants: ids in range, topological order, one producer per value, specs equal to inference
// (except layouts, which are chosen), parameters present. Throws InternalError that names the node.
MGE_API void verify(const Graph& graph);

MGE_API std::string to_text(const Graph& graph);
MGE_API std::string to_json(const Graph& graph);
MGE_API std::string to_dot(const Graph& graph);

// Appends the gradient of sum(outputs · dys) with respect to `xs`. Returns its values in the order of xs,
// no_value for each x without a gradient. `ys` and `dys` are values of the graph.
MGE_API std::vector<ValueId> add_gradient(Graph& graph, std::vector<ValueId> ys, std::vector<ValueId> dys,
                                          std::vector<ValueId> xs);

}  // namespace mge
