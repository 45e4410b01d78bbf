// SPDX-License-Identifier: Apache-2.0
// The symbolic gradient: walks the nodes backwards and runs each gradient rule under a builder, which appends
// the rule's operators to the same graph.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/graph/builder.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge {
namespace {

std::vector<bool> values_depending_on(const Graph& graph, const std::vector<ValueId>& xs) {
    std::vector<bool> depends(graph.values().size());
    for (ValueId x : xs) depends.at(size_t(x)) = true;
    for (auto& node : graph.nodes()) {
        bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                               [&](ValueId id) { return id != no_value && depends[size_t(id)]; });
        if (any)
            for (ValueId id : node.outputs) depends[size_t(id)] = true;
    }
    return depends;
}

class Backward {
public:
    Backward(GraphBuilder& builder, std::vector<bool> depends)
        : builder_(builder), depends_(std::move(depends)), grads_(depends_.size()) {}

    void add(ValueId id, Tensor grad) {
        if (id == no_value || !grad || !depends_[size_t(id)]) return;
        auto& sum = grads_[size_t(id)];
        sum = sum ? ops::add(sum, grad) : std::move(grad);
    }
    const Tensor& grad(ValueId id) const { return grads_[size_t(id)]; }

    void visit(NodeId id) {
        const Node node = builder_.graph().node(id);  // a copy: the rule appends nodes
        if (!node.op->gradient) return;
        Tensors inputs, outputs, output_grads;
        std::vector<char> needed;
        for (ValueId output : node.outputs) {
            outputs.push_back(builder_.symbol(output));
            output_grads.push_back(grads_[size_t(output)]);
        }
        if (std::none_of(output_grads.begin(), output_grads.end(), [](auto& g) { return bool(g); })) return;
        for (ValueId input : node.inputs) {
            inputs.push_back(builder_.symbol(input));
            needed.push_back(input != no_value && depends_[size_t(input)]);
        }
        if (std::none_of(needed.begin(), needed.end(), [](char n) { return n; })) return;
        static_assert(sizeof(bool) == sizeof(char));
        std::span<const bool> needed_span(reinterpret_cast<const bool*>(needed.data()), needed.size());
        Tensors grads =
            node.op->gradient({*node.op, node.params.get(), inputs, outputs, output_grads, needed_span});
        for (size_t i = 0; i < std::min(grads.size(), node.inputs.size()); ++i) add(node.inputs[i], grads[i]);
    }

private:
    GraphBuilder& builder_;
    std::vector<bool> depends_;
    Tensors grads_;
};

}  // namespace

std::vector<ValueId> add_gradient(Graph& graph, std::vector<ValueId> ys, std::vector<ValueId> dys,
                                  std::vector<ValueId> xs) {
    if (ys.size() != dys.size())
        throw_value_error("gradient", counted(ys.size(), "output"), ", but ", counted(dys.size(), "gradient"),
                          " of them");
    for (ValueId id : xs)
        if (id < 0 || size_t(id) >= graph.values().size())
            throw_value_error("gradient", "there is no value ", id, " in the graph");
    auto node_count = NodeId(graph.nodes().size());
    auto depends = values_depending_on(graph, xs);
    GraphBuilder builder(std::move(graph));
    std::vector<ValueId> result;
    {
        InterpreterScope scope(builder);
        Backward backward(builder, std::move(depends));
        for (size_t i = 0; i < ys.size(); ++i) backward.add(ys[i], builder.symbol(dys[i]));
        for (NodeId id = node_count - 1; id >= 0; --id) backward.visit(id);
        for (ValueId x : xs) result.push_back(builder.value_of(backward.grad(x)));
    }
    graph = builder.take();
    return result;
}

}  // namespace mge
