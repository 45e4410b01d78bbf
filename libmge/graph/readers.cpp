// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/readers.h"

namespace mge {

std::vector<std::vector<NodeId>> readers_of_values(const Graph& graph) {
    std::vector<std::vector<NodeId>> readers(graph.values().size());
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        for (ValueId id : graph.node(NodeId(i)).inputs)
            if (id != no_value) readers[size_t(id)].push_back(NodeId(i));
    return readers;
}

}  // namespace mge
