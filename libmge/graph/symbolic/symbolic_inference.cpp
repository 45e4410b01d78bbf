// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_inference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libmge/graph/infer.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/random/distribution.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/extent_terms.h"
#include "libmge/tensor/undecided.h"

namespace mge {
namespace {

// Larger forms become symbols of their own: chains of operators must not make forms of their length.
constexpr int most_factors = 64;
// Unknown elements of larger tensors get no symbols.
constexpr int64_t most_named_elements = 16;

int factors_of(const Extent& extent) {
    if (extent.is_number()) return 0;
    int count = 0;
    for (auto& [product, k] : terms_of(extent))
        for (const ExtentAtom* atom : product) {
            count += 1 + factors_of(atom->a) + factors_of(atom->b);
            if (count > most_factors) return count;
        }
    return count;
}

// The parameters of these operators hold the values of host inputs as they are, handles of extents included.
bool takes_bounds(const OpInfo* op) {
    return op == &ops::Slice::info || op == &ops::SetSlice::info || op == &ops::AddSlice::info;
}
bool takes_extents(const OpInfo* op) {
    const OpInfo* const all[] = {&ops::Reshape::info, &ops::BroadcastTo::info, &ops::Full::info,
                                 &ops::Uniform::info, &ops::Normal::info};
    return std::ranges::find(all, op) != std::end(all);
}
// A symbolic element of a shape is an extent only if it is not negative: -1 has another meaning.
bool can_take(const OpInfo* op, const std::vector<Extent>& extents) {
    return std::ranges::all_of(extents, [&](const Extent& extent) {
        return extent.is_number() || takes_bounds(op) || (takes_extents(op) && extent.lower() >= 0);
    });
}

Tensor raw_values(const std::vector<Extent>& extents) {
    std::vector<int64_t> raw;
    for (const Extent& extent : extents) raw.push_back(extent.raw());
    return tensor_from_host({DType::i64, {int64_t(raw.size())}, {}}, raw.data(), host_device);
}

}  // namespace

// A node with what is known of its inputs.
struct SymbolicInference::Application {
    const Node& node;
    TensorSpecs inputs;
    std::vector<Shape> shapes;
    std::vector<ExtentList> elements;
    Tensors constants;
    size_t plain;

    // The number of elements of a list of numbers, which may follow from shapes.
    std::optional<Extent> count_of_list() const {
        if (node.op == &ops::Arange::info) return count_of_range();
        constexpr size_t count = 2;
        bool is_known = node.op == &ops::Linspace::info && count < elements.size() && elements[count] &&
                        elements[count]->size() == 1 && elements[count]->front().lower() >= 0;
        return is_known ? std::optional(elements[count]->front()) : std::nullopt;
    }

    // Those of a list of whole numbers.
    std::optional<Extent> count_of_range() const {
        auto& p = node.as<ops::Arange::Params>();
        Extent first, last, gap;
        Extent* const numbers[] = {&first, &last, &gap};
        const double given[] = {p.start, p.stop, p.step};
        for (size_t i = 0; i < 3; ++i) {
            if (i < node.inputs.size() && node.inputs[i] != no_value) {
                if (!elements[i] || elements[i]->size() != 1) return std::nullopt;
                *numbers[i] = elements[i]->front();
            } else {
                if (std::abs(given[i]) > INT32_MAX || given[i] != std::floor(given[i])) return std::nullopt;
                *numbers[i] = int64_t(given[i]);
            }
        }
        if (!gap.is_number() || gap.is(0)) return std::nullopt;
        return max_of(0, ceil_div(last - first, gap));
    }

    // Inputs whose elements are numbers become constants.
    void take_numbers() {
        for (size_t i = 0; i < constants.size(); ++i)
            if (!constants[i] && elements[i])
                constants[i] = constant_of(*elements[i], {inputs[i].dtype, shapes[i], {}});
    }

    // Null if a host value is unknown, or if the operator cannot use it.
    std::shared_ptr<const void> resolved() const {
        Tensors host;
        bool is_needed = false;
        for (size_t i = plain; i < inputs.size(); ++i) {
            host.emplace_back();
            if (inputs[i].is_absent()) continue;
            is_needed = true;
            if (!elements[i] || !can_take(node.op, *elements[i])) return nullptr;
            host.back() = raw_values(*elements[i]);
        }
        return is_needed ? node.op->resolve(node.params.get(), host) : node.params;
    }

    // The rank of the output of an operator whose only host input is a shape: the number of its elements.
    std::optional<int> rank_of_result() const {
        bool is_shape = takes_extents(node.op) && inputs.size() == plain + 1 && !inputs[plain].is_absent();
        if (!is_shape || !shapes[plain].is_known() || shapes[plain].has_symbols()) return std::nullopt;
        int64_t rank = shapes[plain].numel();
        return rank <= max_rank ? std::optional(int(rank)) : std::nullopt;
    }

    // Ranks follow from the ranks of inputs and the numbers of host values.
    bool keeps_rank() const {
        return std::ranges::none_of(std::span(inputs).subspan(plain), [](auto& spec) {
            return !spec.is_absent() && (!spec.shape.is_known() || spec.shape.has_symbols());
        });
    }
};

void SymbolicInference::follow() {
    size_t before = values_.size();
    values_.resize(graph_.values().size());
    for (size_t i = before; i < values_.size(); ++i) start(ValueId(i));
    while (nodes_ < graph_.nodes().size()) infer(graph_.node(NodeId(nodes_++)));
}

const SymbolicValue& SymbolicInference::at(ValueId id) {
    follow();
    return values_.at(size_t(id));
}

void SymbolicInference::start(ValueId id) {
    auto& value = graph_.value(id);
    auto& known = values_[size_t(id)];
    bytes_ += sizeof(SymbolicValue);
    if (value.is_constant()) {
        known = {value.spec.shape, extents_of(value.constant), {}};
        if (options_.follows_values) known.constant = value.constant;
    } else if (value.is_input) {
        known = options_.input(id);
        name_elements(id, known);
    } else if (value.producer < 0) {
        known.shape = value.spec.shape;
    }
    if (known.elements) bytes_ += known.elements->size() * sizeof(Extent);
}

void SymbolicInference::assume(ValueId id, const Shape& shape) {
    follow();
    auto& known = values_.at(size_t(id)).shape;
    if (!known.is_known() || known.rank() != shape.rank()) {
        known = shape;
        return;
    }
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (known.extent(axis).is(unknown_extent(id, axis)) || is_unknown_broadcast(known.extent(axis)))
            known.set(axis, shape.extent(axis));
}

void SymbolicInference::assume_axes(ValueId id, int most_axes) {
    follow();
    auto& known = values_.at(size_t(id));
    if (!known.shape.is_known()) known.most_axes = most_axes;
}

Extent SymbolicInference::unknown_extent(ValueId id, int axis) const {
    return options_.unknown(text(options_.prefix, id, '.', axis), 0);
}

// Missing axes broadcast like those of one element, so operands with more axes determine the rank.
void SymbolicInference::give_missing_axes(Application& application) const {
    int most_axes = 0;
    for (auto& shape : application.shapes)
        if (shape.is_known()) most_axes = std::max(most_axes, shape.rank());
    for (size_t i = 0; i < application.shapes.size(); ++i) {
        ValueId id = application.node.inputs[i];
        if (id == no_value || application.shapes[i].is_known()) continue;
        auto& axes = values_[size_t(id)].most_axes;
        if (!axes || *axes > most_axes) continue;
        auto& shape = application.shapes[i] = {};
        for (int axis = 0; axis < *axes; ++axis) shape.push_back(unknown_extent(id, axis));
        application.inputs[i].shape = shape;
    }
}

SymbolicInference::Application SymbolicInference::application_of(const Node& node) const {
    Application made{node, {}, {}, {}, {}, node.op->plain_inputs(node.inputs.size())};
    for (ValueId id : node.inputs) {
        if (id == no_value) {
            made.inputs.emplace_back();
            made.elements.emplace_back();
            made.constants.emplace_back();
        } else {
            auto& known = values_[size_t(id)];
            made.inputs.push_back({graph_.value(id).spec.dtype, known.shape, {}});
            made.elements.push_back(known.elements);
            made.constants.push_back(known.constant);
        }
        made.shapes.push_back(made.inputs.back().shape);
    }
    if (node.op->traits.elementwise) give_missing_axes(made);
    return made;
}

void SymbolicInference::infer(const Node& node) {
    Application application = application_of(node);
    TensorSpecs outputs = infer_outputs(application);
    if (node.op == &ops::Cond::info) add_shared_sizes(application, outputs);
    Tensors constants = constants_of(application, outputs);
    std::vector<ExtentList> elements(outputs.size());
    if (constants.empty())
        elements = symbolic_outputs(
            {node, application.shapes, application.elements, outputs, [&](size_t output, size_t i) {
                 if (!options_.follows_values) throw_unknown_element();
                 return unknown_element(node.outputs[output], i);
             }});
    auto are_numbers = [](const ExtentList& list) {
        return list && std::ranges::all_of(*list, &Extent::is_number);
    };
    if (options_.follows_values && constants.empty() && !std::ranges::all_of(elements, are_numbers)) {
        application.take_numbers();
        constants = constants_of(application, outputs);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        auto& known = values_[size_t(node.outputs[i])];
        known = {outputs[i].shape, std::move(elements[i]), {}};
        if (!constants.empty()) {
            known.constant = constants[i];
            known.elements = extents_of(known.constant);
        }
        name_elements(node.outputs[i], known);
        if (known.elements) bytes_ += known.elements->size() * sizeof(Extent);
    }
}

TensorSpecs SymbolicInference::infer_outputs(const Application& application) {
    auto& node = application.node;
    bool is_known = true;
    for (size_t i = 0; i < application.plain; ++i)
        is_known = is_known && (application.inputs[i].is_absent() || application.shapes[i].is_known());
    if (!is_known) return recorded(node, false);
    if (node.op->traits.runtime_shape) return with_items(application);
    auto at_unknown_values = [&] {
        TensorSpecs outputs = recorded(node, application.keeps_rank());
        Shape shape = shape_at_unknown_values(application);
        if (shape.is_known()) outputs.at(0).shape = shape;
        return outputs;
    };
    try {
        if (auto count = application.count_of_list()) {
            TensorSpec spec{graph_.value(node.outputs[0]).spec.dtype, {}, {}};
            spec.shape.push_back(*count);
            return {spec};
        }
        auto params = application.resolved();
        if (!params) return at_unknown_values();
        GuardScope scope;
        auto outputs = node.op->infer(params.get(), std::span(application.inputs).first(application.plain));
        MGE_CHECK(outputs.size() == node.outputs.size(), node.op->name, " changed its outputs");
        for (auto& guard : scope.guards()) add(guard);
        for (size_t i = 0; i < outputs.size(); ++i) limit_forms(outputs[i].shape, node.outputs[i]);
        return outputs;
    } catch (const UserError&) {
        return at_unknown_values();
    }
}

TensorSpecs SymbolicInference::with_items(const Application& application) {
    auto& node = application.node;
    TensorSpecs outputs = recorded(node, false);
    if (!node.op->shapes_of_items) return outputs;
    auto shapes = node.op->shapes_of_items(application.shapes[0], unknown_extent(node.outputs[0], 0));
    for (size_t i = 0; i < shapes.size(); ++i) outputs.at(i).shape = shapes[i];
    return outputs;
}

void SymbolicInference::add_shared_sizes(const Application& application, TensorSpecs& outputs) const {
    auto is_unknown = [](const TensorSpec& spec) { return !spec.shape.is_known(); };
    if (std::ranges::none_of(outputs, is_unknown)) return;
    auto& params = application.node.as<ops::Cond::Params>();
    auto then = shapes_of_branch(application, params.then_graph, "then"),
         otherwise = shapes_of_branch(application, params.else_graph, "else");
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!is_unknown(outputs[i]) || !then[i].is_known() || !otherwise[i].is_known()) continue;
        if (then[i].rank() != otherwise[i].rank()) continue;
        for (int axis = 0; axis < then[i].rank(); ++axis)
            if (!then[i].extent(axis).is(otherwise[i].extent(axis)))
                then[i].set(axis, unknown_extent(application.node.outputs[i], axis));
        outputs[i].shape = then[i];
    }
}

std::vector<Shape> SymbolicInference::shapes_of_branch(const Application& application,
                                                       const SubgraphRef& branch,
                                                       std::string_view name) const {
    auto& graph = graph_of(branch);
    auto input = [&](ValueId id) {
        auto operand = size_t(std::ranges::find(graph.inputs(), id) - graph.inputs().begin()) + 1;
        return SymbolicValue{application.shapes[operand], application.elements[operand],
                             application.constants[operand]};
    };
    std::string prefix = text(options_.prefix, application.node.outputs[0], '.', name, '.');
    SymbolicInference inference(graph, {options_.unknown, input, prefix, options_.follows_values});
    std::vector<Shape> shapes;
    for (ValueId id : graph.outputs()) shapes.push_back(inference.at(id).shape);
    return shapes;
}

void SymbolicInference::note_refused(const Node& node) {
    follow();
    Application application = application_of(node);
    for (size_t i = 0; i < application.plain; ++i)
        if (!application.inputs[i].is_absent() && !application.shapes[i].is_known()) return;
    GuardScope scope;
    try {
        if (auto params = application.resolved())
            node.op->infer(params.get(), std::span(application.inputs).first(application.plain));
    } catch (const UserError&) {
        // Guards of the conditions before the one that fails are known.
    }
    for (auto& guard : scope.guards()) add(guard);
}

void SymbolicInference::limit_forms(Shape& shape, ValueId id) {
    if (!shape.has_symbols()) return;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (factors_of(shape.extent(axis)) > most_factors) shape.set(axis, unknown_extent(id, axis));
}

Shape SymbolicInference::shape_at_unknown_values(const Application& application) const {
    auto& node = application.node;
    Shape shape;
    auto add_unknown = [&] { shape.push_back(unknown_extent(node.outputs[0], shape.rank())); };
    if (auto rank = application.rank_of_result()) {
        for (int axis = 0; axis < *rank; ++axis) add_unknown();
        return shape;
    }
    if (!takes_bounds(node.op)) return Shape::unknown();
    auto& x = application.shapes[0];
    if (node.op != &ops::Slice::info) return x;
    enum { whole, cut, dropped };
    std::vector<int> axes(size_t(x.rank()), whole);
    auto& items = node.as<ops::Slice::Params>().items;
    for (size_t i = 0; i + ops::item_size <= items.size(); i += ops::item_size) {
        int64_t axis = items[i] < 0 ? items[i] + x.rank() : items[i];
        if (axis < 0 || axis >= x.rank()) return Shape::unknown();
        axes[size_t(axis)] = items[i + 4] ? dropped : cut;
    }
    for (int axis = 0; axis < x.rank(); ++axis) {
        if (axes[size_t(axis)] == cut) add_unknown();
        if (axes[size_t(axis)] == whole) shape.push_back(x.extent(axis));
    }
    return shape;
}

TensorSpecs SymbolicInference::recorded(const Node& node, bool keeps_rank) {
    TensorSpecs outputs;
    for (ValueId id : node.outputs) {
        auto& spec = graph_.value(id).spec;
        outputs.push_back({spec.dtype, Shape::unknown(), {}});
        if (!keeps_rank || !spec.shape.is_known()) continue;
        Shape shape = spec.shape;
        for (int axis = 0; axis < shape.rank(); ++axis) shape.set(axis, unknown_extent(id, axis));
        outputs.back().shape = shape;
    }
    return outputs;
}

Extent SymbolicInference::unknown_element(ValueId id, size_t i) const {
    DType dtype = graph_.value(id).spec.dtype;
    std::string name = text(options_.prefix, id, '[', i, ']');
    if (dtype == DType::boolean) return Extent::symbol(name, {.lower = 0, .upper = 1});
    return Extent::symbol(name, {.lower = is_unsigned(dtype) ? 0 : Extent::least_number});
}

void SymbolicInference::name_elements(ValueId id, SymbolicValue& known) {
    if (!options_.follows_values) return;
    auto& spec = graph_.value(id).spec;
    bool is_named = !known.elements && (is_int(spec.dtype) || spec.dtype == DType::boolean) &&
                    known.shape.is_known() && !known.shape.has_symbols() &&
                    known.shape.numel() <= most_named_elements;
    if (is_named) {
        known.elements.emplace();
        for (int64_t i = 0; i < known.shape.numel(); ++i)
            known.elements->push_back(unknown_element(id, size_t(i)));
    }
}

Tensors SymbolicInference::constants_of(const Application& in, const TensorSpecs& outputs) const {
    auto& traits = in.node.op->traits;
    if (!options_.follows_values || traits.once) return {};
    auto is_symbolic = [](const TensorSpec& spec) {
        return !spec.shape.is_known() || spec.shape.has_symbols();
    };
    if (std::ranges::any_of(outputs, is_symbolic)) return {};
    for (size_t i = 0; i < in.inputs.size(); ++i) {
        if (in.inputs[i].is_absent() || in.constants[i]) continue;
        if (!traits.reads_only_specs || is_symbolic(in.inputs[i])) return {};
    }
    return known_outputs(*in.node.op, in.node.params.get(), in.inputs, in.constants, outputs);
}

void SymbolicInference::add(const Guard& guard) {
    if (seen_.insert({guard.relation, guard.a.raw(), guard.b.raw()}).second) guards_.push_back(guard);
}

}  // namespace mge
