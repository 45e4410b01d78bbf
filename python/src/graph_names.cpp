// SPDX-License-Identifier: Apache-2.0
#include "python/src/graph_names.h"

#include <map>
#include <set>

#include "libmge/graph/infer.h"
#include "libmge/model/import/megengine/counterparts.h"

namespace mge::python {
namespace {

std::string name_in(const std::string& scope, const Graph& graph, const Node& node) {
    auto found = megengine::counterpart(*node.op, input_specs(graph, node));
    bool is_elementwise = node.op->traits.elementwise && !found.mode.empty();
    return text(scope, scope.empty() ? "" : ".", is_elementwise ? found.mode : found.type);
}

void name_node(Graph& graph, Node& node, std::string name) {
    for (ValueId id : node.outputs)
        graph.value(id).name =
            node.outputs.size() > 1 ? text(name, ":o", graph.value(id).output_index) : name;
    node.name = std::move(name);
}

}  // namespace

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
    std::vector<std::string> names;
    for (ValueId id : ids) names.push_back(graph.value(id).name);
    return names;
}

void drop_names(Graph& graph, const KeptNames& kept) {
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (!kept.operators) graph.node(NodeId(i)).name.clear();
    std::set<ValueId> outputs;
    if (kept.values == 1) outputs.insert(graph.outputs().begin(), graph.outputs().end());
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        bool is_kept = value.is_input || kept.values > 1 || outputs.contains(ValueId(i)) ||
                       (value.is_constant() && kept.constants);
        if (!is_kept) value.name.clear();
    }
}

void name_recorded(Graph& graph, const NameScopes& scopes) {
    std::vector<std::string> names;
    std::map<std::string, int> counts, next;
    size_t scope = 0;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        while (scope < scopes.size() && scopes[scope].first <= i) ++scope;
        names.push_back(name_in(scope ? scopes[scope - 1].second : "", graph, graph.nodes()[i]));
        ++counts[names.back()];
    }
    for (size_t i = 0; i < names.size(); ++i) {
        auto& name = names[i];
        if (counts[name] > 1)
            name_node(graph, graph.node(NodeId(i)), text(name, '[', next[name]++, ']'));
        else
            name_node(graph, graph.node(NodeId(i)), name);
    }
}

}  // namespace mge::python
