// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/edit.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/require_value.h"

namespace mge {
namespace {

constexpr auto graph_edit = "graph";

ValueId find_or(const std::map<ValueId, ValueId>& map, ValueId id) {
    auto found = map.find(id);
    return found == map.end() ? id : found->second;
}

// Returns, by node, whether it depends on a key of `known` and must be computed again.
std::vector<bool> dependent_nodes(const Graph& graph, const std::map<ValueId, ValueId>& known) {
    std::vector<bool> depends(graph.nodes().size());
    for (size_t i = 0; i < depends.size(); ++i)
        for (ValueId id : graph.node(NodeId(i)).inputs) {
            if (id == no_value) continue;
            NodeId producer = graph.value(id).producer;
            if (known.contains(id) || (producer >= 0 && depends[size_t(producer)])) depends[i] = true;
        }
    return depends;
}

// Returns the nodes needed if every key is replaced by its mapped value.
std::vector<bool> nodes_to_copy(const Graph& graph, const std::vector<ValueId>& values,
                                const std::map<ValueId, ValueId>& known) {
    std::vector<bool> needed(graph.nodes().size());
    auto need = [&](ValueId id) {
        if (id == no_value || known.contains(id)) return;
        if (NodeId producer = graph.value(id).producer; producer >= 0) needed[size_t(producer)] = true;
    };
    std::ranges::for_each(values, need);
    for (size_t i = needed.size(); i-- > 0;)
        if (needed[i]) std::ranges::for_each(graph.node(NodeId(i)).inputs, need);
    return needed;
}

// Returns the target's value. Copies inputs and constants of the source on demand.
ValueId moved(Graph& target, const Graph& source, std::map<ValueId, ValueId>& known, ValueId id) {
    if (id == no_value) return no_value;
    if (auto found = known.find(id); found != known.end()) return found->second;
    auto& value = source.value(id);
    MGE_CHECK(value.producer < 0);
    return known[id] = value.is_constant()
                           ? target.add_constant(value.constant, value.name, value.device)
                           : target.add_input(value.spec, value.name, value.device, value.dimensions);
}

}  // namespace

std::vector<bool> needed_nodes(const Graph& graph, const std::vector<ValueId>& values) {
    return nodes_to_copy(graph, values, {});
}

Graph infer_again(Graph graph) {
    Graph inferred = infer_shapes(graph, specs_of(graph, graph.inputs()));
    for (size_t i = 0; i < graph.values().size(); ++i)
        graph.value(ValueId(i)).spec = inferred.value(ValueId(i)).spec;
    return graph;
}

Graph replace_values(Graph graph, const std::map<ValueId, ValueId>& by) {
    std::map<ValueId, std::vector<bool>> makers;  // the nodes each replacement depends on
    for (auto [old, now] : by) {
        require_value(graph, old, graph_edit);
        require_value(graph, now, graph_edit);
        if (old != now) makers[old] = needed_nodes(graph, {now});
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        for (ValueId& input : graph.node(NodeId(i)).inputs)
            if (auto found = makers.find(input); found != makers.end() && !found->second[i])
                input = by.at(input);
    auto outputs = graph.outputs();
    for (ValueId& output : outputs) output = find_or(by, output);
    graph.set_outputs(std::move(outputs));
    graph.reorder(dependency_order(graph, graph_edit));
    return infer_again(std::move(graph));
}

Graph with_inputs(Graph graph, NodeId node, std::vector<ValueId> inputs) {
    for (ValueId id : inputs)
        if (id != no_value) require_value(graph, id, graph_edit);
    auto& op = *graph.node(node).op;
    if (inputs.size() > op.inputs.size() && !op.is_variadic())
        throw_user(op.name,
                   text("takes at most ", counted(op.inputs.size(), "input"), ", got ", inputs.size()));
    graph.node(node).inputs = std::move(inputs);
    graph.reorder(dependency_order(graph, graph_edit));
    return infer_again(std::move(graph));
}

std::vector<ValueId> copy_values(Graph& target, const Graph& source, const std::vector<ValueId>& values,
                                 std::map<ValueId, ValueId>& known) {
    bool is_same = &target == &source;
    // Work on a copy: an operator may refuse.
    Graph grown = target;
    auto moves = known;
    auto needed = nodes_to_copy(source, values, known);
    auto depends = dependent_nodes(source, known);
    for (size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i] || (is_same && !depends[i])) continue;
        auto& node = source.node(NodeId(i));
        std::vector<ValueId> inputs;
        for (ValueId id : node.inputs)
            inputs.push_back(is_same ? find_or(moves, id) : moved(grown, source, moves, id));
        NodeId copy = copy_node(source, node, grown, node.params, std::move(inputs));
        for (size_t k = 0; k < node.outputs.size(); ++k)
            moves.try_emplace(node.outputs[k], grown.node(copy).outputs[k]);
    }
    std::vector<ValueId> result;
    for (ValueId id : values)
        result.push_back(is_same ? find_or(moves, id) : moved(grown, source, moves, id));
    target = infer_again(std::move(grown));
    known = std::move(moves);
    return result;
}

}  // namespace mge
