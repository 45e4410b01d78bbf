// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/footprint.h"

#include "libmge/graph/infer.h"

namespace mge {

Footprint footprint(const Graph& graph, const Node& node) {
    TensorSpecs outputs;
    for (ValueId id : node.outputs) outputs.push_back(graph.value(id).spec);
    return footprint(*node.op, node.params.get(), input_specs(graph, node), outputs);
}

}  // namespace mge
