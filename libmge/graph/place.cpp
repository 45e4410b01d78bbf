// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/place.h"

#include "libmge/graph/origins.h"

namespace mge {
namespace {

// Infers devices in the order of the nodes. Results of data movement operators stay where they are.
Graph with_derived(Graph graph) {
    for (auto& node : graph.nodes()) {
        if (node.op->place || node.outputs.empty()) continue;
        DeviceId device;
        try {
            device = place_of_outputs(*node.op, node.params.get(), input_places(graph, node.inputs),
                                      graph.place(node));
        } catch (const UserError& e) {
            throw UserError(text(operator_text(graph, node), ": ", e.what()), e.error_class());
        }
        for (ValueId id : node.outputs) graph.value(id).device = device;
    }
    return graph;
}

}  // namespace

std::vector<const DeviceId*> input_places(const Graph& graph, std::span<const ValueId> inputs) {
    std::vector<const DeviceId*> places;
    for (ValueId id : inputs) places.push_back(id == no_value ? nullptr : &graph.value(id).device);
    return places;
}

Graph place(Graph graph, DeviceId where) {
    for (size_t i = 0; i < graph.values().size(); ++i)
        if (auto& value = graph.value(ValueId(i)); value.device.is_default) value.device = where;
    return with_derived(std::move(graph));
}

Graph place_inputs(Graph graph, std::span<const DeviceId> inputs) {
    auto& ports = graph.inputs();
    MGE_CHECK(inputs.size() == ports.size());
    for (size_t i = 0; i < ports.size(); ++i) graph.value(ports[i]).device = inputs[i];
    return with_derived(std::move(graph));
}

}  // namespace mge
