// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/static_infer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libmge/graph/infer.h"
#include "libmge/graph/origins.h"
#include "libmge/graph/readers.h"

namespace mge {
namespace {

constexpr auto static_inference = "static inference";

// The source of a result of two operands.
InferSource both(InferSource a, InferSource b) { return std::max(a, b); }

}  // namespace

std::string_view name_of(InferSource source) {
    constexpr std::array names{"constant", "known from the inputs", "missing an input",
                               "known only in a run"};
    return names.at(size_t(source));
}

StaticInference::StaticInference(const Graph& graph)
    : graph_(graph), known_(graph.values().size()), readers_(readers_of_values(graph)) {
    for (size_t i = 0; i < known_.size(); ++i) {
        auto& value = graph.value(ValueId(i));
        known_[i].spec = value.spec;
        if (value.producer >= 0) continue;
        bool is_constant = value.is_constant();
        known_[i] = {value.spec, value.constant,
                     is_constant                   ? InferSource::constant
                     : value.spec.shape.is_known() ? InferSource::run_static
                                                   : InferSource::missing,
                     is_constant ? InferSource::constant : InferSource::missing, true};
    }
}

StaticInference::Known& StaticInference::input(ValueId id) {
    auto& value = graph_.value(id);
    if (!value.is_input)
        throw_value_error(static_inference, "value ", id, " ('", value_label(graph_, id),
                          "') is not an input of the graph");
    return known_[size_t(id)];
}

void StaticInference::set_shape(ValueId id, const Shape& shape) {
    auto& input = this->input(id);
    input.spec.shape = shape;
    input.value = {};
    input.shape_source = shape.is_known() ? InferSource::run_static : InferSource::missing;
    input.value_source = InferSource::missing;
    forget_readers(id);
}

void StaticInference::set_value(ValueId id, const Tensor& value) {
    if (!value) return set_shape(id, input(id).spec.shape);
    auto& input = this->input(id);
    if (value.dtype() != input.spec.dtype)
        throw_type_error(static_inference, "input '", graph_.value(id).name, "' is ", input.spec.dtype,
                         ", got ", value.dtype());
    set_shape(id, value.shape());
    input.value = value;
    input.value_source = InferSource::run_static;
}

// An invalid value has invalid readers already.
void StaticInference::forget_readers(ValueId id) {
    std::vector<ValueId> changed{id};
    while (!changed.empty()) {
        auto& readers = readers_[size_t(changed.back())];
        changed.pop_back();
        for (NodeId reader : readers)
            for (ValueId output : graph_.node(reader).outputs)
                if (std::exchange(known_[size_t(output)].is_current, false)) changed.push_back(output);
    }
}

StaticInference::Known& StaticInference::known(ValueId id) {
    graph_.value(id);
    // Evaluates missing operands first, iteratively: chains may be longer than the stack.
    std::vector<NodeId> wanted{graph_.value(id).producer};
    while (!wanted.empty()) {
        NodeId node = wanted.back();
        size_t before = wanted.size();
        if (node >= 0 && !known_[size_t(graph_.node(node).outputs.at(0))].is_current) {
            for (ValueId input : graph_.node(node).inputs)
                if (input != no_value && !known_[size_t(input)].is_current)
                    wanted.push_back(graph_.value(input).producer);
            if (wanted.size() > before) continue;
            evaluate(node);
        }
        wanted.pop_back();
    }
    return known_[size_t(id)];
}

void StaticInference::evaluate(NodeId id) {
    ++evaluations_;
    auto& node = graph_.node(id);
    auto shapes = InferSource::constant, values = InferSource::constant;
    Tensors tensors;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == no_value) {
            tensors.emplace_back();
            continue;
        }
        auto& input = known_[size_t(node.inputs[i])];
        bool is_host = input_info(*node.op, i).kind == InputKind::host;
        shapes = both(shapes, is_host ? input.value_source : input.shape_source);
        values = both(values, node.op->traits.reads_only_specs ? input.shape_source : input.value_source);
        tensors.push_back(input.value);
    }
    infer(node, tensors);
    bool has_values = true;
    for (ValueId output : node.outputs) has_values = has_values && known_[size_t(output)].value;
    for (ValueId output : node.outputs) {
        auto& known = known_[size_t(output)];
        bool has_shape = known.spec.shape.is_known();
        bool is_open = shapes <= InferSource::run_static && !has_shape;  // only the operator leaves it open
        known.shape_source = is_open ? InferSource::unknown : shapes;
        bool is_lost = values <= InferSource::run_static && !has_values;
        known.value_source = is_lost ? InferSource::unknown : both(values, known.shape_source);
        known.is_current = true;
    }
}

void StaticInference::infer(const Node& node, const Tensors& values) {
    TensorSpecs inputs, recorded;
    for (ValueId id : node.inputs) inputs.push_back(id == no_value ? TensorSpec{} : known_[size_t(id)].spec);
    for (ValueId id : node.outputs) recorded.push_back(graph_.value(id).spec);
    auto inferred = infer_application(*node.op, node.params, inputs, values, &recorded);
    for (size_t i = 0; i < node.outputs.size(); ++i)
        known_[size_t(node.outputs[i])].spec = inferred.outputs.at(i);
    Tensors outputs =
        known_outputs(*node.op, inferred.params.get(), std::span(inputs).first(inferred.input_count),
                      std::span(values).first(inferred.input_count), inferred.outputs);
    for (size_t i = 0; i < node.outputs.size(); ++i)
        known_[size_t(node.outputs[i])].value = outputs.empty() ? Tensor{} : outputs[i];
}

InferSource StaticInference::shape_source(ValueId id) { return known(id).shape_source; }
InferSource StaticInference::value_source(ValueId id) { return known(id).value_source; }

std::optional<Shape> StaticInference::find_shape(ValueId id) {
    auto& found = known(id);
    return found.spec.shape.is_known() ? std::optional(found.spec.shape) : std::nullopt;
}

Tensor StaticInference::find_value(ValueId id) { return known(id).value; }

Shape StaticInference::shape(ValueId id) {
    if (auto found = find_shape(id)) return *found;
    throw_value_error(static_inference, "the shape of '", value_label(graph_, id), "' is ",
                      name_of(shape_source(id)));
}

Tensor StaticInference::value(ValueId id) {
    if (Tensor found = find_value(id)) return found;
    throw_value_error(static_inference, "the value of '", value_label(graph_, id), "' is ",
                      name_of(value_source(id)));
}

}  // namespace mge
