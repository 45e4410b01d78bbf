// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/infer.h"

#include <algorithm>
#include <optional>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"

namespace mge {
namespace {

bool has_unknown_shape(Specs specs) {
    return std::any_of(specs.begin(), specs.end(),
                       [](auto& s) { return !s.is_absent() && !s.shape.is_known(); });
}

TensorSpecs with_unknown_shapes(TensorSpecs specs) {
    for (auto& spec : specs) spec = {spec.dtype, Shape::unknown(), {}};
    return specs;
}

// Trial extents. Operators may require a certain last extent (indices, boxes, regions) or images not smaller
// than their window.
struct Extents {
    int64_t all, last;
};
constexpr Extents tried_extents[] = {{1, 1}, {1, 2}, {1, 4}, {1, 5}, {4, 4}, {64, 64}};

// A vector has no separate last extent.
TensorSpec with_extents(TensorSpec spec, int rank, const Extents& extents) {
    spec.shape = Shape{};
    for (int i = 0; i < rank; ++i) spec.shape.push_back(i > 0 && i + 1 == rank ? extents.last : extents.all);
    return spec;
}

Tensor ones_value(const TensorSpec& spec, int count) {
    if (spec.is_absent() || (!is_int(spec.dtype) && !is_float(spec.dtype))) return {};
    int64_t length = spec.shape.is_known() ? std::min(spec.numel(), known_value_limit) : count;
    auto ones = [&](auto one, DType dtype) {
        std::vector values(size_t(length), one);
        return tensor_from_host({dtype, {length}, {}}, values.data(), host_device);
    };
    return is_int(spec.dtype) ? ones(int32_t(1), DType::i32) : ones(1.0F, DType::f32);
}

// Ranks of up to this many inputs of unknown shape are tried in all combinations.
constexpr int most_combined = 3;

// Finds dtypes, which do not depend on extents: tries extents and host values of ones until the operator
// accepts them. Inputs of unknown shape get one common rank first, then different ranks.
class Probe {
public:
    Probe(const OpInfo& op, const std::shared_ptr<const void>& params, const TensorSpecs& inputs, size_t host)
        : op_(op), params_(params), inputs_(inputs), host_(host) {
        for (size_t i = 0; i < host; ++i) unknown_ += !inputs[i].is_absent() && !inputs[i].shape.is_known();
    }

    TensorSpecs outputs() const {
        // No trial extents might fit the requested shape.
        if (op_.traits.view) return with_unknown_shapes({inputs_[0]});
        int combinations = 1;
        for (int i = 0; i < std::min(unknown_, most_combined); ++i) combinations *= max_rank;
        for (bool is_list : {true, false})
            for (int tries : {max_rank, unknown_ > 1 ? combinations : 0})
                for (bool keep_known : {true, false})
                    for (auto& extents : tried_extents)
                        for (int ranks = 0; ranks < tries; ++ranks)
                            if (auto specs =
                                    attempt({keep_known, tries == max_rank, is_list}, extents, ranks))
                                return with_unknown_shapes(*specs);
        throw_user(op_.name,
                   "its outputs cannot be inferred: the shape of an input is known only at run time");
    }

private:
    struct Assumptions {
        bool keep_known, is_same;
        bool is_list;  // a host value of unknown length has one number per axis, else a single one
    };
    // `ranks` has base-max_rank digits, the last one for the first unknown input.
    std::optional<TensorSpecs> attempt(const Assumptions& assumed, const Extents& extents, int ranks) const {
        TensorSpecs tried(inputs_.begin(), inputs_.begin() + ptrdiff_t(host_));
        int first_rank = ranks % max_rank + 1;
        for (auto& spec : tried) {
            if (spec.is_absent()) continue;
            if (spec.shape.is_known()) {
                if (!assumed.keep_known) spec = with_extents(spec, spec.shape.rank(), {1, 1});
                continue;
            }
            spec = with_extents(spec, ranks % max_rank + 1, extents);
            if (!assumed.is_same) ranks /= max_rank;
        }
        try {
            if (host_ == inputs_.size()) return op_.infer(params_.get(), tried);
            Tensors values;
            for (auto& spec : std::span(inputs_).subspan(host_))
                values.push_back(ones_value(spec, assumed.is_list ? first_rank : 1));
            return op_.infer(op_.resolve(params_.get(), values).get(), tried);
        } catch (const UserError&) {
            return std::nullopt;
        }
    }

    const OpInfo& op_;
    const std::shared_ptr<const void>& params_;
    const TensorSpecs& inputs_;
    size_t host_;
    int unknown_ = 0;
};

}  // namespace

Inferred infer_application(const OpInfo& op, std::shared_ptr<const void> params, Specs inputs,
                           std::span<const Tensor> values, const TensorSpecs* recorded) {
    size_t host = op.plain_inputs(inputs.size());
    Inferred result{std::move(params), host, {}, !has_unknown_shape(inputs.first(host))};
    bool has_host_values = false;
    for (size_t i = host; i < inputs.size(); ++i) {
        if (inputs[i].is_absent()) continue;
        has_host_values = true;
        result.is_resolved = result.is_resolved && i < values.size() && values[i];
    }
    if (result.is_resolved && has_host_values)
        result.params = op.resolve(result.params.get(), values.subspan(host));
    if (!result.is_resolved) {
        result.input_count = inputs.size();
        result.outputs =
            recorded ? with_unknown_shapes(*recorded)
                     : Probe(op, result.params, TensorSpecs(inputs.begin(), inputs.end()), host).outputs();
        return result;
    }
    result.outputs = op.infer(result.params.get(), inputs.first(host));
    for (auto& spec : result.outputs)
        if (spec.shape.is_known()) checked_numel(op.name, spec.shape);
    if (op.traits.runtime_shape) result.outputs = with_unknown_shapes(std::move(result.outputs));
    return result;
}

Tensor KnownValues::find(const Graph& graph, ValueId id) const {
    if (id == no_value) return {};
    if (auto& value = graph.value(id); value.is_constant()) return value.constant;
    return size_t(id) < computed_.size() ? computed_[size_t(id)] : Tensor{};
}

Tensors known_outputs(const OpInfo& op, const void* params, Specs inputs, std::span<const Tensor> values,
                      Specs outputs) {
    for (auto& output : outputs)
        if (!output.shape.is_known() || output.shape.numel() > known_value_limit) return {};
    // Known values are on the host and computed before any run.
    if (op.place || op.traits.control || op.traits.effect) return {};
    Tensors operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
        bool is_absent = inputs[i].is_absent();
        Tensor value = values[i];
        if (!is_absent && !value && op.traits.reads_only_specs && inputs[i].shape.is_known())
            value = without_memory(inputs[i]);
        if (!is_absent && !value) return {};
        if (value && value.address() && value.spec().numel() > known_value_limit) return {};
        operands.push_back(to_host(value));
    }
    return eager_interpreter().apply(op, params, operands);
}

void KnownValues::add(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    Tensors values;
    TensorSpecs outputs;
    for (ValueId input : node.inputs) values.push_back(find(graph, input));
    for (ValueId output : node.outputs) outputs.push_back(graph.value(output).spec);
    Tensors computed = known_outputs(*node.op, node.params.get(), input_specs(graph, node), values, outputs);
    if (computed.empty()) return;
    computed_.resize(graph.values().size());
    for (size_t i = 0; i < computed.size(); ++i) computed_[size_t(node.outputs[i])] = computed[i];
}

bool is_unresolved(const Node& node) {
    auto host_values = std::span(node.inputs).subspan(node.op->plain_inputs(node.inputs.size()));
    return std::ranges::any_of(host_values, [](ValueId id) { return id != no_value; });
}

TensorSpecs input_specs(const Graph& graph, const Node& node) {
    TensorSpecs specs;
    for (ValueId id : node.inputs) specs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
    return specs;
}

namespace {

// Describes inputs that differ from the original ones; empty if they are equal.
std::string changed_inputs(const Graph& graph, const TensorSpecs& inputs) {
    std::string result;
    for (size_t i = 0; i < inputs.size(); ++i) {
        auto& value = graph.value(graph.inputs()[i]);
        if (value.spec == inputs[i]) continue;
        result += text(result.empty() ? "" : "; ", "input '", value.name, "' is ", inputs[i],
                       ", the model's is ", value.spec);
    }
    return result;
}

Graph with_inferred(Graph graph) {
    KnownValues known;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        Tensors values;
        for (ValueId id : node.inputs) values.push_back(known.find(graph, id));
        TensorSpecs recorded;
        for (ValueId id : node.outputs) recorded.push_back(graph.value(id).spec);
        auto inferred = infer_application(*node.op, node.params, input_specs(graph, node), values, &recorded);
        MGE_CHECK(inferred.outputs.size() == node.outputs.size(), node.op->name, " changed its outputs");
        node.params = inferred.params;
        node.inputs.resize(inferred.input_count);
        for (size_t k = 0; k < node.outputs.size(); ++k)
            graph.value(node.outputs[k]).spec = inferred.outputs[k];
        known.add(graph, NodeId(i));
    }
    return graph;
}

}  // namespace

Graph infer_shapes(Graph graph, const TensorSpecs& inputs) {
    auto& ports = graph.inputs();
    if (inputs.size() != ports.size())
        throw_type_error("graph", "it has ", counted(ports.size(), "input"), ", got ", inputs.size());
    for (size_t i = 0; i < ports.size(); ++i) {
        auto& value = graph.value(ports[i]);
        if (value.spec.dtype != inputs[i].dtype)
            throw_type_error("graph", "input '", value.name, "' must be ", value.spec.dtype, ", got ",
                             inputs[i].dtype);
    }
    std::string changed = changed_inputs(graph, inputs);
    for (size_t i = 0; i < ports.size(); ++i) graph.value(ports[i]).spec = inputs[i];
    try {
        return with_inferred(std::move(graph));
    } catch (const ModelError&) {
        throw;
    } catch (const UserError& e) {
        if (changed.empty()) throw;
        throw UserError(text(e.what(), " (", changed, ")"), e.error_class());
    }
}

}  // namespace mge
