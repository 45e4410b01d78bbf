// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/rewrite.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "libmge/graph/copy_node.h"

namespace mge {

namespace {

template <class T>
void unite(std::vector<T>& into, const std::vector<T>& others) {
    std::vector<T> both;
    std::ranges::set_union(into, others, std::back_inserter(both));
    into = std::move(both);
}

}  // namespace

Rewrite::Rewrite(const Graph& source) : source_(source), moved_(source.values().size(), no_value) {
    target_.take_identity_of(source);
    target_.set_source_nodes(source.source_nodes());
    for (ValueId id : source.inputs()) {
        auto& input = source.value(id);
        moved_[size_t(id)] = target_.add_input(input.spec, input.name, input.device, input.dimensions);
    }
}

ValueId Rewrite::operator()(ValueId id) {
    if (id == no_value) return no_value;
    auto& moved = moved_[size_t(id)];
    auto& value = source_.value(id);
    if (moved == no_value && value.is_constant())
        moved = target_.add_constant(value.constant, value.name, value.device);
    MGE_CHECK(moved != no_value, "value ", id, " was not computed yet");
    return moved;
}

std::vector<ValueId> Rewrite::operator()(const std::vector<ValueId>& values) {
    std::vector<ValueId> result;
    for (ValueId id : values) result.push_back((*this)(id));
    return result;
}

void Rewrite::copy(NodeId id) {
    auto& node = source_.node(id);
    copy_with(id, node.params, (*this)(node.inputs));
}

void Rewrite::copy_with(NodeId id, std::shared_ptr<const void> params, std::vector<ValueId> inputs) {
    auto& node = source_.node(id);
    NodeId copied = copy_node(source_, node, target_, std::move(params), std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i)
        moved_[size_t(node.outputs[i])] = target_.node(copied).outputs[i];
}

void Rewrite::emit(NodeId id, const OpInfo& op, std::shared_ptr<const void> params,
                   std::vector<ValueId> inputs, std::string name) {
    NodeId added = target_.add_node(op, std::move(params), std::move(inputs), std::move(name), nullptr,
                                    &source_.place(source_.node(id)));
    replace(source_.node(id).outputs[0], target_.node(added).outputs[0]);
}

void Rewrite::replace(ValueId source, ValueId target) {
    moved_[size_t(source)] = target;
    auto& name = target_.value(target).name;
    if (name.empty()) name = source_.value(source).name;
    unite(target_.value(target).origins, source_.value(source).origins);
    if (NodeId producer = source_.value(source).producer; producer >= 0) absorb(producer, target);
}

void Rewrite::absorb(NodeId source, ValueId target) {
    NodeId producer = target_.value(target).producer;
    if (producer < 0) return;
    take_work(source_.node(source), target_.node(producer));
}

void take_work(const Node& from, Node& to) {
    unite(to.sources, from.sources);
    unite(to.origins, from.origins);
}

Graph Rewrite::finish() {
    target_.set_outputs((*this)(source_.outputs()));
    return std::move(target_);
}

bool has_operator(const Graph& graph, std::initializer_list<const OpInfo*> ops) {
    return std::ranges::any_of(graph.nodes(),
                               [&](auto& node) { return std::ranges::find(ops, node.op) != ops.end(); });
}

std::optional<ParamValue> find_param(const Node& node, std::string_view name) {
    for (auto& field : node.op->fields)
        if (field.name == name) return field.get(node.params.get());
    return std::nullopt;
}

std::shared_ptr<const void> with_param(const OpInfo& op, const void* params, std::string_view name,
                                       const ParamValue& value) {
    auto result = op.params.make();
    for (auto& field : op.fields)
        if (field.name != name) field.set(result.get(), field.get(params));
    load_params(op.name, op.fields, result.get(), {{std::string(name), value}});
    return result;
}

std::optional<size_t> input_position(const OpInfo& op, std::string_view name) {
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i].name == name) return i;
    return std::nullopt;
}

ValueId named_input(const Node& node, std::string_view name) {
    auto position = input_position(*node.op, name);
    return position ? given_input(node, *position) : no_value;
}

Tensor constant_of(const Graph& graph, ValueId value) {
    return value == no_value ? Tensor{} : graph.value(value).constant;
}

bool is_same_number(const Graph& graph, ValueId a, ValueId b) {
    if (a == b) return true;
    Tensor x = constant_of(graph, a), y = constant_of(graph, b);
    if (!x || !y || x.dtype() != y.dtype() || x.spec().numel() != 1 || y.spec().numel() != 1) return false;
    return std::memcmp(x.data(), y.data(), x.spec().bytes()) == 0;
}

bool same_params(const Node& a, const Node& b) {
    return a.op == b.op && a.op->params.equal(a.params.get(), b.params.get());
}

}  // namespace mge
