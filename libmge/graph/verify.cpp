// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/graph.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/place.h"

namespace mge {
namespace {

std::string label(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    return text("node ", id, " (", node.op ? node.op->name : "no operator",
                node.name.empty() ? "" : " '" + node.name + "'", ')');
}

bool in_range(const Graph& graph, ValueId id) { return id >= 0 && size_t(id) < graph.values().size(); }

void verify_value(const Graph& graph, ValueId id) {
    auto& value = graph.value(id);
    int sources = (value.producer >= 0) + value.is_input + value.is_constant();
    MGE_CHECK(sources <= 1, "value ", id, " has ", sources, " sources");
    if (value.is_constant())
        MGE_CHECK(value.constant.device().is_host(), "the host cannot read constant ", id);
    if (value.is_constant())
        MGE_CHECK(value.constant.spec() == value.spec, "value ", id, " has spec ", value.spec, " but holds ",
                  value.constant.spec());
    if (value.producer < 0) return;
    MGE_CHECK(size_t(value.producer) < graph.nodes().size(), "value ", id, " has no such producer");
    auto& outputs = graph.node(value.producer).outputs;
    MGE_CHECK(size_t(value.output_index) < outputs.size() && outputs[size_t(value.output_index)] == id,
              "value ", id, " is not output ", value.output_index, " of ", label(graph, value.producer));
}

void verify_inputs(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    MGE_CHECK(node.inputs.size() <= node.op->inputs.size() || node.op->is_variadic(), label(graph, id),
              " has too many inputs");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId input = node.inputs[i];
        if (input == no_value) {
            MGE_CHECK(input_info(*node.op, i).kind != InputKind::required, label(graph, id), " lacks input '",
                      input_info(*node.op, i).name, "'");
            continue;
        }
        MGE_CHECK(in_range(graph, input), label(graph, id), " reads value ", input, ", which does not exist");
        auto& value = graph.value(input);
        MGE_CHECK(value.producer >= 0 || value.is_input || value.is_constant(), label(graph, id),
                  " reads value ", input, ", which no node computes");
        MGE_CHECK(value.producer < id, label(graph, id), " comes before ", label(graph, value.producer),
                  ", whose output it reads");
    }
}

void verify_outputs(const Graph& graph, NodeId id, const KnownValues& known) {
    auto& node = graph.node(id);
    TensorSpecs recorded, inputs = input_specs(graph, node);
    Tensors values;
    for (ValueId output : node.outputs) {
        MGE_CHECK(in_range(graph, output), label(graph, id), " writes value ", output,
                  ", which does not exist");
        MGE_CHECK(graph.value(output).producer == id, label(graph, id), " is not the producer of value ",
                  output);
        recorded.push_back(graph.value(output).spec);
    }
    for (ValueId input : node.inputs) values.push_back(known.find(graph, input));
    for (auto& spec : inputs) spec.layout = {};
    auto inferred = infer_application(*node.op, node.params, inputs, values, &recorded).outputs;
    MGE_CHECK(inferred.size() == recorded.size(), label(graph, id), " has ", recorded.size(),
              " outputs, inferred are ", inferred.size());
    for (size_t i = 0; i < recorded.size(); ++i) {
        MGE_CHECK(inferred[i].dtype == recorded[i].dtype, label(graph, id), " output ", i, " is ",
                  recorded[i], ", inferred is ", inferred[i]);
        // A traced graph may have shapes that inference cannot determine, and a simplified graph may allow
        // more inference than was recorded.
        bool agrees = !inferred[i].shape.is_known() || !recorded[i].shape.is_known() ||
                      inferred[i].shape == recorded[i].shape;
        MGE_CHECK(agrees, label(graph, id), " output ", i, " is ", recorded[i], ", inferred is ",
                  inferred[i]);
    }
}

void verify_place(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    if (node.outputs.empty()) return;
    for (ValueId output : node.outputs)
        MGE_CHECK(graph.value(output).device == graph.place(node), label(graph, id),
                  " has outputs on different devices");
    if (node.op->place) return;
    auto places = input_places(graph, node.inputs);
    MGE_CHECK(place_of_outputs(*node.op, node.params.get(), places, graph.place(node)) == graph.place(node),
              label(graph, id), " is not on the device of its inputs");
}

}  // namespace

void verify(const Graph& graph) {
    for (ValueId id : graph.inputs())
        MGE_CHECK(in_range(graph, id) && graph.value(id).is_input, "graph input ", id, " is not an input");
    for (ValueId id : graph.outputs()) MGE_CHECK(in_range(graph, id), "graph output ", id, " does not exist");
    for (size_t i = 0; i < graph.values().size(); ++i) verify_value(graph, ValueId(i));
    KnownValues known;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto id = NodeId(i);
        MGE_CHECK(graph.node(id).op, "node ", id, " has no operator");
        MGE_CHECK(graph.node(id).params, label(graph, id), " has no parameters");
        verify_inputs(graph, id);
        verify_outputs(graph, id, known);
        verify_place(graph, id);
        for (auto& held : held_graphs(graph.node(id))) verify(graph_of(held.graph));
        known.add(graph, id);
    }
}

}  // namespace mge
