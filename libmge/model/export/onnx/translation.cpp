// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/translation.h"

#include <algorithm>

#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/origins.h"
#include "libmge/model/export/onnx/operators.h"
#include "libmge/model/export/onnx/unfused.h"
#include "libmge/passes/pass.h"

namespace mge::to_onnx {
Graph prepare_graph(Graph graph) {
    note_origins(graph);
    return unfused(remove_dead_nodes(std::move(graph), {}));
}

Translation::Translation(GraphWriter& writer, Graph graph, const OpenInputs& inputs, std::string prefix)
    : writer_(writer),
      graph_(std::move(graph)),
      prefix_(std::move(prefix)),
      shapes_(graph_, inputs, prefix_),
      uses_(graph_.use_counts()),
      names_(graph_.values().size()) {}

void Translation::run() {
    name_values();
    for (ValueId id : graph_.inputs()) writer_.record.inputs.push_back(describe(id, names_[size_t(id)]));
    translate_all();
    add_outputs();
}

Operands Translation::run_on(const Operands& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) names_[size_t(graph_.inputs()[i])] = inputs[i];
    name_values();
    translate_all();
    Operands outputs;
    for (ValueId id : graph_.outputs()) outputs.push_back(names_[size_t(id)]);
    return outputs;
}

// User-defined names come first and are kept.
void Translation::name_values() {
    auto give = [&](ValueId id, const std::string& name) {
        if (names_[size_t(id)].empty()) names_[size_t(id)] = writer_.unique(prefix_ + name);
    };
    for (ValueId id : graph_.inputs())
        give(id, graph_.value(id).name.empty() ? "input" : graph_.value(id).name);
    for (ValueId id : graph_.outputs()) give(id, value_label(graph_, id));
    for (size_t i = 0; i < names_.size(); ++i)
        if (!graph_.values()[i].name.empty()) give(ValueId(i), graph_.values()[i].name);
    for (size_t i = 0; i < names_.size(); ++i) {
        auto& value = graph_.values()[i];
        if (value.is_constant())
            names_[i] = add_constant(ValueId(i));
        else if (value.producer >= 0)
            give(ValueId(i), value_label(graph_, ValueId(i)));
    }
}

std::string Translation::add_constant(ValueId id) {
    auto& value = graph_.value(id);
    if (names_[size_t(id)].empty()) return writer_.constant(value.constant);
    writer_.record.initialisers.emplace_back(names_[size_t(id)], value.constant);
    return names_[size_t(id)];
}

void Translation::check_dtypes(const Node& node, const Site& site) const {
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
            DType dtype = id == no_value ? DType::f32 : graph_.value(id).spec.dtype;
            if (!type_number(dtype)) unsupported("numbers of ", dtype);
            if (dtype == DType::bf16) site.require_opset(13);
        }
}

void Translation::translate_all() {
    for (auto& node : graph_.nodes()) translate(node);
}

void Translation::translate(const Node& node) {
    size_t first = writer_.node_count();
    auto* row = find_operator(*node.op);
    std::string name = prefix_ + node_label(graph_, node);
    try {
        if (!row) unsupported("ONNX has no equivalent");
        Site site(writer_, graph_, node, shapes_, names_, uses_);
        check_dtypes(node, site);
        site.type = row->type;
        bind(node, row->function(site), first);
    } catch (const Unsupported& problem) {
        problems_.push_back(text(operator_text(node.op->name, name), ": ", problem.what));
        return;
    } catch (const Undecidable&) {
        problems_.push_back(
            text(operator_text(node.op->name, name), ": a size that is known only at run time"));
        return;
    }
    std::string unique = node_names_.take(name) ? name : node_names_.unique(text(name, '#', first));
    writer_.name_nodes(first, unique, names_[size_t(node.outputs[0])]);
}

void Translation::bind(const Node& node, const Operands& results, size_t first) {
    for (size_t i = 0; i < node.outputs.size(); ++i)
        if (i < results.size() && uses_[size_t(node.outputs[i])] > 0)
            writer_.rename(first, results[i], names_[size_t(node.outputs[i])]);
}

// A value has one name: inputs, constants and values that are outputs already are copied.
void Translation::add_outputs() {
    std::set<ValueId> taken;
    for (ValueId id : graph_.outputs()) {
        std::string name = names_[size_t(id)];
        if (graph_.value(id).producer < 0 || !taken.insert(id).second) name = writer_.copied(name);
        if (!graph_.value(id).spec.shape.is_known())
            problems_.push_back(text("output '", name, "': its rank is known only at run time"));
        writer_.record.outputs.push_back(describe(id, name));
    }
}

ValueRecord Translation::describe(ValueId id, const std::string& name) {
    auto& spec = graph_.value(id).spec;
    if (!type_number(spec.dtype)) problems_.push_back(text('\'', name, "': numbers of ", spec.dtype));
    ValueRecord record{name, spec.dtype, spec.shape.is_known(), {}};
    for (int axis = 0; axis < spec.shape.rank(); ++axis) {
        auto extent = shapes_.extent(id, axis);
        auto* own = find_dimension(graph_.value(id).dimensions, axis);
        bool has_own_name = own && !own->name.empty() && !extent;
        record.extents.push_back(
            {extent.value_or(-1), has_own_name ? own->name : shapes_.dimension_name(id, axis)});
    }
    return record;
}

}  // namespace mge::to_onnx
