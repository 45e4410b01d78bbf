// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "libmge/graph/graph.h"
#include "libmge/graph/infer.h"
#include "libmge/op/apply.h"

namespace mge {

class SymbolicInference;

// Records operators on symbolic tensors into a graph. Concrete tensors become constants, one per value.
// Values without inputs are on the graph's default device.
//
//     GraphBuilder builder;
//     Tensor x = builder.input({DType::f32, {1, 10}, {}}, "x");
//     InterpreterScope scope(builder);
//     builder.set_outputs({ops::relu(x)});
//     Graph graph = builder.take();
class MGE_API GraphBuilder final : public Interpreter {
public:
    GraphBuilder();
    explicit GraphBuilder(Graph graph);  // continues an existing graph
    ~GraphBuilder() override;
    GraphBuilder(const GraphBuilder&) = delete;

    Tensor input(const TensorSpec& spec, std::string name, DeviceId device = {});
    // Returns a symbolic tensor for a value of the graph; null for no_value.
    Tensor symbol(ValueId id);
    // Returns the value of a symbolic tensor, no_value for a null one. Adds a concrete tensor as a constant.
    ValueId value_of(const Tensor& tensor);
    // Continues with the graph after the caller has changed it. Symbols stay valid: the caller may change
    // specs of values but not their ids.
    void resume(Graph graph);
    // Returns the value if it is known before any run, else null.
    Tensor known_value(ValueId id) const { return known_.find(graph_, id); }
    void set_outputs(std::span<const Tensor> outputs);
    void set_outputs(std::initializer_list<Tensor> outputs) {
        set_outputs(std::span(outputs.begin(), outputs.size()));
    }

    // From now on, external tensors become additional inputs instead of constants, and values of other graphs
    // are accepted. Numbers of the program stay constants. `already` lists initial inputs. Symbols report
    // `place` as their device, so that they can be combined with other values there; in the graph it is the
    // default device.
    void capture(std::span<const Tensor> already, DeviceId place = {});
    // Ends capturing and returns the graph. Existing symbols become invalid.
    Graph take_captured();
    // The tensors that correspond to the additional inputs, in order.
    const Tensors& captured() const { return captured_; }

    // Attaches an inference that follows this graph, and learns of applications that operators refuse.
    void set_symbolic(SymbolicInference* inference) { symbolic_ = inference; }
    SymbolicInference* symbolic() const { return symbolic_; }
    // Returns the builder of a symbolic tensor; nullptr for other tensors and for those of captured graphs
    // that were taken. The tensor must not be that of a trace.
    static GraphBuilder* of(const Tensor& tensor);

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
    // Keeps the tensors alive, so that their addresses remain valid keys.
    std::unordered_map<const TensorImpl*, std::pair<Tensor, ValueId>> constants_;
    bool captures_ = false;
    DeviceId capture_place_;
    Tensors captured_, handles_;  // captured tensors; all symbols since capture()
    SymbolicInference* symbolic_ = nullptr;
};

}  // namespace mge
