// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/own_outputs.h"

#include <set>

#include "libmge/graph/readers.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge {
namespace {

// Returns the value that owns the memory.
ValueId root_of(const Graph& graph, ValueId id) {
    for (const Node* node = maker_of(graph, id); node && node->op->traits.view; node = maker_of(graph, id))
        id = node->inputs[0];
    return id;
}

}  // namespace

Graph give_outputs_own_memory(Graph graph) {
    std::set<ValueId> taken(graph.inputs().begin(), graph.inputs().end());
    std::vector<ValueId> outputs = graph.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
        ValueId root = root_of(graph, outputs[i]);
        if (!graph.value(root).is_constant() && taken.insert(root).second) continue;
        NodeId node = graph.add_node(ops::Copy::info, ops::Copy::info.params.make(), {outputs[i]});
        outputs[i] = graph.node(node).outputs[0];
    }
    graph.set_outputs(std::move(outputs));
    return graph;
}

}  // namespace mge
