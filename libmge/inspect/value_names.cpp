// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/value_names.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace mge {

Graph name_values(Graph graph) {
    std::vector<bool> is_port(graph.values().size());
    std::set<std::string> taken;
    for (auto& value : graph.values()) taken.insert(value.name);
    for (auto* ids : {&graph.inputs(), &graph.outputs()})
        for (ValueId id : *ids) is_port[size_t(id)] = true;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        std::string base = node.name.empty() ? text(node.op->name, '#', i) : node.name;
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            auto& value = graph.value(node.outputs[k]);
            if (!value.name.empty() || is_port[size_t(node.outputs[k])]) continue;
            value.name = node.outputs.size() > 1 ? text(base, ":o", k) : base;
            // Several nodes may have come from one operator of another engine's file, and its name with it.
            if (!taken.insert(value.name).second) taken.insert(value.name += text('#', i));
        }
    }
    return graph;
}

bool is_same_network(const Graph& a, const Graph& b) {
    return std::ranges::equal(a.nodes(), b.nodes(), [](auto& x, auto& y) { return x.op == y.op; });
}

std::string value_label(const Graph& graph, ValueId id) {
    auto& value = graph.value(id);
    if (!value.name.empty()) return value.name;
    if (value.producer < 0) return text(value.is_constant() ? "constant#" : "input#", id);
    auto& node = graph.node(value.producer);
    std::string name = node.name.empty() ? text(node.op->name, '@', id) : node.name;
    return node.outputs.size() > 1 ? text(name, ":o", value.output_index) : name;
}

std::vector<std::string> value_labels(const Program& program) {
    auto& values = program.values();
    std::vector<std::string> labels(values.size());
    for (size_t i = 0; i < values.size(); ++i) labels[i] = values[i].name;
    for (auto& step : program.steps())
        for (size_t k = 0; k < step.outputs.size(); ++k) {
            auto& label = labels[size_t(step.outputs[k])];
            if (!label.empty()) continue;
            label = step.name.empty() ? text(step.op, '@', step.outputs[k]) : step.name;
            if (step.outputs.size() > 1) label += text(":o", k);
        }
    std::vector<size_t> order(labels.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::vector<bool> is_output(labels.size());
    for (auto& port : program.outputs()) is_output[size_t(port.value)] = true;
    std::ranges::stable_partition(order, [&](size_t i) { return is_output[i]; });
    std::set<std::string> taken;
    for (size_t i : order) {  // outputs first: they keep their names
        bool is_constant = values[i].place == ValueReport::Place::constant;
        if (labels[i].empty()) labels[i] = text(is_constant ? "constant#" : "value#", i);
        std::string base = labels[i];
        for (int n = 1; !taken.insert(labels[i]).second; ++n) labels[i] = text(base, '[', n, ']');
    }
    return labels;
}

}  // namespace mge
