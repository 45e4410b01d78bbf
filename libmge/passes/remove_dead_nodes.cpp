// SPDX-License-Identifier: Apache-2.0
// Drops nodes on which no output of the graph depends, unless they have an effect. Unused inputs are kept:
// they are the graph's interface.

#include <algorithm>

#include "libmge/graph/inner_graph.h"
#include "libmge/graph/rewrite.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

bool is_unread_constant(const Graph& graph, const std::vector<bool>& is_read) {
    for (size_t i = 0; i < is_read.size(); ++i)
        if (!is_read[i] && graph.value(ValueId(i)).is_constant()) return true;
    return false;
}

}  // namespace

Graph remove_dead_nodes(Graph graph, const PassOptions&) {
    std::vector<bool> is_read(graph.values().size());
    for (ValueId id : graph.outputs()) is_read[size_t(id)] = true;
    std::vector<bool> is_live(graph.nodes().size());
    for (size_t i = graph.nodes().size(); i-- > 0;) {
        auto& node = graph.node(NodeId(i));
        is_live[i] = has_effect(node) ||
                     std::ranges::any_of(node.outputs, [&](ValueId id) { return is_read[size_t(id)]; });
        if (!is_live[i]) continue;
        for (ValueId id : node.inputs)
            if (id != no_value) is_read[size_t(id)] = true;
    }
    if (std::ranges::find(is_live, false) == is_live.end() && !is_unread_constant(graph, is_read))
        return graph;
    Rewrite rewrite(graph);
    for (size_t i = 0; i < is_live.size(); ++i)
        if (is_live[i]) rewrite.copy(NodeId(i));
    return rewrite.finish();
}

}  // namespace mge
