// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/builder.h"

#include <array>
#include <atomic>

#include "libmge/graph/symbolic/symbolic_inference.h"

namespace mge {
namespace {

// Live builders and the ids of their graphs, for messages: a symbol knows only the address of its builder,
// which may be destroyed. Lock-free, because a fork could leave a lock taken. Builders beyond the first 64
// are unnamed.
struct NamedBuilder {
    std::atomic<const void*> builder{nullptr};
    std::atomic<uint64_t> id{0};
};
constinit std::array<NamedBuilder, 64> builders;

void add_builder(const void* builder, uint64_t id) {
    for (auto& each : builders) {
        const void* free_slot = nullptr;
        if (!each.builder.compare_exchange_strong(free_slot, builder)) continue;
        each.id = id;
        return;
    }
}

void remove_builder(const void* builder) {
    for (auto& each : builders)
        if (each.builder == builder) {
            each.id = 0;
            each.builder = nullptr;
        }
}

// The owner of symbols whose graph was taken.
char taken;

std::string graph_of_builder(const void* builder) {
    for (auto& each : builders)
        if (each.builder == builder)
            if (uint64_t id = each.id) return text("graph ", id);
    return "another graph";
}

}  // namespace

GraphBuilder::GraphBuilder() { add_builder(this, graph_.id()); }
GraphBuilder::~GraphBuilder() { remove_builder(this); }

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
    add_builder(this, graph_.id());
    learn();
}

void GraphBuilder::resume(Graph graph) {
    graph_ = std::move(graph);
    known_ = {};
    constants_.clear();
    learn();
}

// Finds the known values and the constants of the graph.
void GraphBuilder::learn() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) known_.add(graph_, NodeId(i));
    for (size_t i = 0; i < graph_.values().size(); ++i)
        if (auto& value = graph_.value(ValueId(i)); value.is_constant())
            constants_.try_emplace(value.constant.impl(), value.constant, ValueId(i));
}

Tensor GraphBuilder::input(const TensorSpec& spec, std::string name, DeviceId device) {
    return symbol(graph_.add_input(spec, std::move(name), device));
}

Tensor GraphBuilder::symbol(ValueId id) {
    if (id == no_value) return {};
    auto& value = graph_.value(id);
    bool is_elsewhere = captures_ && value.device == DeviceId{};
    Tensor symbol = Tensor::symbolic(value.spec, this, id, is_elsewhere ? capture_place_ : value.device);
    if (captures_) handles_.push_back(symbol);
    return symbol;
}

ValueId GraphBuilder::value_of(const Tensor& tensor) {
    if (!tensor) return no_value;
    if (tensor.is_symbolic() && tensor.impl()->symbol_owner == this) return tensor.impl()->symbol;
    if (captures_ && tensor.impl()->symbol != literal_mark) return capture_one(tensor);
    if (tensor.is_symbolic())
        throw_value_error("graph", "a tensor of ", graph_of_builder(tensor.impl()->symbol_owner),
                          " cannot be used in graph ", graph_.id());
    auto [it, is_new] = constants_.try_emplace(tensor.impl(), tensor, no_value);
    if (is_new) {
        it->second.second = graph_.add_constant(tensor);
        if (captures_) graph_.value(it->second.second).device = {};
    }
    return it->second.second;
}

void GraphBuilder::capture(std::span<const Tensor> already, DeviceId place) {
    captures_ = true;
    capture_place_ = place;
    for (auto& tensor : already) capture_one(tensor);
}

Graph GraphBuilder::take_captured() {
    for (auto& handle : handles_) handle.impl()->symbol_owner = &taken;
    handles_.clear();
    return take();
}

ValueId GraphBuilder::capture_one(const Tensor& tensor) {
    auto [it, is_new] = constants_.try_emplace(tensor.impl(), tensor, no_value);
    if (!is_new) return it->second.second;
    it->second.second = graph_.add_input(tensor.spec(), text("in_", graph_.inputs().size()));
    captured_.push_back(tensor);
    return it->second.second;
}

GraphBuilder* GraphBuilder::of(const Tensor& tensor) {
    void* owner = tensor && tensor.is_symbolic() ? tensor.impl()->symbol_owner : nullptr;
    return owner == &taken ? nullptr : static_cast<GraphBuilder*>(owner);
}

void GraphBuilder::set_outputs(std::span<const Tensor> outputs) {
    std::vector<ValueId> ids;
    for (auto& output : outputs) ids.push_back(value_of(output));
    graph_.set_outputs(std::move(ids));
}

Tensors GraphBuilder::apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    std::vector<ValueId> ids;
    TensorSpecs specs;
    Tensors values;
    for (auto& input : inputs) {
        ids.push_back(value_of(input));
        specs.push_back(input ? input.spec() : TensorSpec{});
        values.push_back(known_.find(graph_, ids.back()));
    }
    // The node keeps its host inputs: they may have other values for another input shape.
    auto own_params = op.params.copy(params);
    Inferred inferred;
    try {
        inferred = infer_application(op, own_params, specs, values);
    } catch (const UserError&) {
        if (symbolic_) symbolic_->note_refused({&op, own_params, ids, {}, {}, {}, {}});
        throw;
    }
    NodeId id = graph_.add_node(op, own_params, std::move(ids), {}, &inferred.outputs);
    known_.add(graph_, id);
    Tensors outputs;
    for (ValueId output : graph_.node(id).outputs) outputs.push_back(symbol(output));
    return outputs;
}

}  // namespace mge
