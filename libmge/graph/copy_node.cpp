// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/copy_node.h"

namespace mge {

TensorSpecs specs_of(const Graph& graph, const std::vector<ValueId>& values) {
    TensorSpecs specs;
    for (ValueId id : values) specs.push_back(graph.value(id).spec);
    return specs;
}

NodeId copy_node(const Graph& source, const Node& node, Graph& target, std::shared_ptr<const void> params,
                 std::vector<ValueId> inputs) {
    TensorSpecs specs = specs_of(source, node.outputs);
    DeviceId place = source.place(node);
    NodeId id = target.add_node(*node.op, std::move(params), std::move(inputs), node.name, &specs, &place);
    auto& copy = target.node(id);
    copy.sources = node.sources;
    copy.origins = node.origins;
    for (size_t i = 0; i < copy.outputs.size(); ++i) {
        auto& from = source.value(node.outputs[i]);
        auto& to = target.value(copy.outputs[i]);
        to.name = from.name;
        to.origins = from.origins;
    }
    return id;
}

}  // namespace mge
