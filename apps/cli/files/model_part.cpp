// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/model_part.h"

#include <algorithm>
#include <map>

#include "libmge/base/error.h"
#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/graph/edit.h"

namespace mge::cli {
namespace {

bool is_read(const Graph& graph, ValueId id) {
    bool by_node = std::ranges::any_of(
        graph.nodes(), [&](auto& node) { return std::ranges::find(node.inputs, id) != node.inputs.end(); });
    return by_node || std::ranges::find(graph.outputs(), id) != graph.outputs().end();
}

void refuse(const std::string& message) { throw UserError(message, ErrorClass::value); }

// Makes a value of the whole graph an input of the part.
ValueId add_cut(Graph& part, const Graph& graph, ValueId id, const std::string& name) {
    auto& value = graph.value(id);
    if (!value.spec.shape.is_known())
        refuse(text("the value '", name, "' cannot be an input: its shape is known only at run time"));
    TensorSpec spec = value.spec;
    spec.layout = {};
    return part.add_input(spec, name, value.device, value.is_input ? value.dimensions : OpenDimensions{});
}

}  // namespace

ModelPart cut_part(const Graph& graph, const std::vector<ValueId>& from, const std::vector<ValueId>& to,
                   const std::vector<std::string>& names) {
    ModelPart part;
    std::map<ValueId, ValueId> known;
    for (ValueId id : from) {
        auto& name = names[size_t(id)];
        if (known.contains(id)) refuse(text("the value '", name, "' is given twice"));
        if (graph.value(id).is_constant()) refuse(text("the value '", name, "' is a constant"));
        known[id] = add_cut(part.model.graph, graph, id, name);
        part.inputs.push_back(id);
    }
    auto outputs = copy_values(part.model.graph, graph, to, known);
    auto& cut = part.model.graph;
    for (size_t i = 0; i < outputs.size(); ++i) cut.value(outputs[i]).name = names[size_t(to[i])];
    cut.set_outputs(outputs);
    if (cut.nodes().empty()) refuse("there is no operator between these values");
    for (ValueId id : from)
        if (!is_read(cut, known[id]))
            refuse(text("the value '", names[size_t(id)], "' is not needed for the outputs of the part"));
    for (ValueId id : graph.inputs())
        if (known.contains(id) && std::ranges::find(from, id) == from.end()) part.inputs.push_back(id);
    return part;
}

Tensors values_of(Graph graph, const CompileOptions& options, const Tensors& inputs,
                  const std::vector<ValueId>& wanted) {
    Tensors result(wanted.size());
    std::vector<ValueId> computed;
    for (size_t i = 0; i < wanted.size(); ++i) {
        auto at = std::ranges::find(graph.inputs(), wanted[i]) - graph.inputs().begin();
        if (size_t(at) < inputs.size())
            result[i] = inputs[size_t(at)];
        else
            computed.push_back(wanted[i]);
    }
    if (computed.empty()) return result;
    graph.set_outputs(computed);
    auto context = Context::create(Program::compile(graph, specs_of(inputs), options));
    context->fill_inputs(inputs);
    context->run();
    context->wait();
    size_t next = 0;
    for (auto& value : result)
        if (!value) value = to_host(context->copy_output(next++));
    return result;
}

}  // namespace mge::cli
