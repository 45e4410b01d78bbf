// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/value_names.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "libmge/base/unique_names.h"
#include "libmge/graph/origins.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/shape/layout/reorder.h"

namespace mge {
namespace {

bool only_stores_otherwise(const Node& node) {
    return node.origins.empty() && (node.op == &ops::Reorder::info || node.op == &ops::Convert::info);
}

ValueKeys make_keys(const Graph& graph, const std::function<std::vector<std::string>(ValueId)>& own_keys) {
    ValueKeys keys(graph.values().size());
    for (size_t i = 0; i < keys.size(); ++i)
        if (graph.value(ValueId(i)).producer < 0) keys[i] = own_keys(ValueId(i));
    // In the order of the nodes, so that the sources of a value already have their keys.
    for (auto& node : graph.nodes())
        for (ValueId id : node.outputs)
            keys[size_t(id)] = only_stores_otherwise(node) ? keys[size_t(node.inputs.at(0))] : own_keys(id);
    return keys;
}

}  // namespace

Graph name_values(Graph graph) {
    note_origins(graph);
    std::vector<bool> is_port(graph.values().size());
    UniqueNames names;
    for (auto& value : graph.values()) names.take(value.name);
    for (auto* ids : {&graph.inputs(), &graph.outputs()})
        for (ValueId id : *ids) is_port[size_t(id)] = true;
    std::vector<std::string> labels(graph.values().size());
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = value_label(graph, ValueId(i));
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        for (ValueId id : graph.node(NodeId(i)).outputs) {
            auto& value = graph.value(id);
            if (!value.name.empty() || is_port[size_t(id)]) continue;
            value.name = labels[size_t(id)];
            // Several nodes may originate from one operator of another engine's file, with its name.
            NodeId number = value.origins.empty() ? NodeId(i) : value.origins.front().node;
            if (!names.take(value.name)) value.name = names.unique(text(value.name, '#', number));
        }
    return graph;
}

std::vector<std::string> value_labels(const Program& program) {
    auto& values = program.values();
    std::vector<std::string> labels(values.size());
    for (size_t i = 0; i < values.size(); ++i) labels[i] = values[i].name;
    std::vector<size_t> order(labels.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::vector<bool> is_output(labels.size());
    for (auto& port : program.outputs()) is_output[size_t(port.value)] = true;
    // The ranges' version does not compile with clang 14 and libstdc++.
    std::stable_partition(order.begin(), order.end(), [&](size_t i) { return is_output[i]; });
    UniqueNames names;
    for (size_t i : order) {  // outputs first: they keep their names
        bool is_constant = values[i].place == ValueReport::Place::constant;
        if (labels[i].empty()) labels[i] = text(is_constant ? "constant#" : "value#", i);
        labels[i] = names.unique(labels[i]);
    }
    return labels;
}

std::string origin_key(const ValueOrigin& origin) { return text('#', origin.node, ':', origin.output); }

ValueKeys keys_for_files(const Graph& graph) {
    // Several nodes may originate from one operator of another engine's file: its name belongs to the value
    // that has it.
    std::set<std::string> taken_names;
    for (auto& value : graph.values()) taken_names.insert(value.name);
    return make_keys(graph, [&](ValueId id) -> std::vector<std::string> {
        auto& value = graph.value(id);
        if (value.producer < 0)
            return value.name.empty() ? std::vector<std::string>{} : std::vector{value.name};
        std::vector names{value_label(graph, id)}, keys = std::vector<std::string>();
        for (auto& other : other_labels(graph, id)) names.push_back(std::move(other));
        std::erase_if(names, [&](auto& name) { return name != value.name && taken_names.contains(name); });
        for (auto& origin : value.origins) keys.push_back(origin_key(origin));
        keys.insert(keys.end(), names.begin(), names.end());
        return keys;
    });
}

ValueKeys keys_by_origin(const Graph& graph, const std::vector<NodeId>& numbers,
                         const std::vector<size_t>& inputs) {
    std::vector<size_t> number_of_input(graph.values().size());
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        number_of_input[size_t(graph.inputs()[i])] = inputs.at(i);
    return make_keys(graph, [&](ValueId id) {
        auto& value = graph.value(id);
        std::vector<std::string> keys;
        if (value.is_input) keys.push_back(text("input ", number_of_input[size_t(id)]));
        for (auto& origin : value.origins)
            if (NodeId number = numbers.at(size_t(origin.node)); number >= 0)
                keys.push_back(origin_key({number, origin.output}));
        return keys;
    });
}

ValueKeys keys_by_origin(const Graph& graph) {
    std::vector<NodeId> numbers(graph.source_nodes() ? graph.source_nodes()->size() : 0);
    std::iota(numbers.begin(), numbers.end(), NodeId(0));
    std::vector<size_t> inputs(graph.inputs().size());
    std::iota(inputs.begin(), inputs.end(), size_t(0));
    return keys_by_origin(graph, numbers, inputs);
}

}  // namespace mge
