// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "libmge/graph/graph.h"
#include "libmge/graph/infer.h"
#include "libmge/op/apply.h"

namespace mge {

// Records operators applied to symbolic tensors into a graph. Concrete tensors become constants, one per
// value however often it is used. What has no inputs lies at the graph's default place.
//
//     GraphBuilder builder;
//     Tensor x = builder.input({DType::f32, {1, 10}, {}}, "x");
//     InterpreterScope scope(builder);
//     builder.set_outputs({ops::relu(x)});
//     Graph graph = builder.take();
class MGE_API GraphBuilder final : public Interpreter {
public:
    GraphBuilder();
    explicit GraphBuilder(Graph graph);  // goes on with an existing graph
    ~GraphBuilder() override;
    GraphBuilder(const GraphBuilder&) = delete;

    Tensor input(const TensorSpec& spec, std::string name, DeviceId device = {});
    // A tensor that stands for a value of the graph; null for no_value.
    Tensor symbol(ValueId id);
    // The value a tensor stands for; a concrete one is added as a constant, a null one is no_value.
    ValueId value_of(const Tensor& tensor);
    // Goes on with the graph as somebody has changed it. Symbols stay what they are: ids of values may not
    // have changed, their specs may.
    void resume(Graph graph);
    // What is known of a value before any run; null: nothing.
    Tensor known_value(ValueId id) const { return known_.find(graph_, id); }
    void set_outputs(std::span<const Tensor> outputs);
    void set_outputs(std::initializer_list<Tensor> outputs) {
        set_outputs(std::span(outputs.begin(), outputs.size()));
    }

    // From now on a tensor from outside becomes a further input instead of a constant, and values of other
    // graphs may be used; numbers of the program stay constants. `already` are inputs from the start.
    // Symbols say that they lie at `place`, so that they go together with what lies there; in the graph it is
    // the default place.
    void capture(std::span<const Tensor> already, DeviceId place = {});
    // Ends it: whoever still holds a symbol cannot use it any more.
    Graph take_captured();
    // The tensors that these inputs stand for, in their order.
    const Tensors& captured() const { return captured_; }

    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override;
    Tensor alias(const Tensor& tensor) override { return symbol(value_of(tensor)); }

    const Graph& graph() const { return graph_; }
    Graph& graph() { return graph_; }
    Graph take() { return std::move(graph_); }

private:
    ValueId capture_one(const Tensor& tensor);
    void learn();

    Graph graph_;
    KnownValues known_;
    // Keeps the tensors alive, so that their addresses stay theirs.
    std::unordered_map<const TensorImpl*, std::pair<Tensor, ValueId>> constants_;
    bool captures_ = false;
    DeviceId capture_place_;
    Tensors captured_, handles_;  // of what was captured, and of all symbols since
};

}  // namespace mge
