// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/shapes.h"

#include <algorithm>

#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/symbolic/symbol_table.h"
#include "libmge/graph/symbolic/symbolic_inference.h"

namespace mge::to_onnx {
namespace {

constexpr auto batch_name = "batch";
// Each round solves some symbols.
constexpr int most_rounds = 3;

// The batch size of the first input that has one; 0 without one.
int64_t present_batch(const Graph& graph) {
    for (ValueId id : graph.inputs())
        if (auto& shape = graph.value(id).spec.shape; shape.rank() > 0) return shape[0];
    return 0;
}

struct OpenAxis {
    size_t input;
    int axis;
    std::string name;
    int64_t lower;  // the least size
};

// Dimensions without a name have sizes of their own, except for batches.
std::string name_of(const Value& input, const OpenDimension* dimension, int axis) {
    if (dimension && !dimension->name.empty()) return dimension->name;
    return axis ? text(input.name, '_', axis) : batch_name;
}

std::vector<OpenAxis> open_axes(const Graph& graph, OpenAxes open) {
    std::vector<OpenAxis> axes;
    int64_t present = present_batch(graph);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        auto& input = graph.value(graph.inputs()[i]);
        auto& shape = input.spec.shape;
        auto add = [&](int axis) {
            auto* own = find_dimension(input.dimensions, axis);
            axes.push_back(
                {i, axis, name_of(input, own, axis), own ? std::max<int64_t>(own->bounds.lower, 1) : 1});
        };
        if (open == OpenAxes::batch && shape.rank() > 0 && shape[0] == present && present) add(0);
        if (open > OpenAxes::named) continue;
        for (auto& d : input.dimensions)
            if (d.axis < shape.rank() && (!d.axis || !d.name.empty() || open == OpenAxes::all)) add(d.axis);
    }
    return axes;
}

// The open dimensions of a graph, whose operators may demand something of their sizes.
class Dimensions {
public:
    Dimensions(const Graph& graph, OpenAxes open)
        : graph_(graph), axes_(open_axes(graph, open)), names_(all_dimension_names(graph)) {
        for (auto& axis : axes_)
            present_.try_emplace(symbol_name(axis.name), present_shape(axis.input)[axis.axis]);
    }

    // Returns true if the operators demand something new of the sizes.
    bool learn() {
        auto inputs = open_inputs();
        auto input = [&](ValueId id) {
            auto place = size_t(std::ranges::find(graph_.inputs(), id) - graph_.inputs().begin());
            return SymbolicValue{inputs.shapes[place]};
        };
        auto unknown = [&](const std::string& name, int64_t lower) { return symbols_.get(name, lower); };
        SymbolicInference inference(graph_, {.unknown = unknown, .input = input, .follows_values = true});
        inference.follow();
        bool has_learned = false;
        for (auto& guard : inference.guards()) has_learned |= symbols_.learn(as_present(guard));
        return has_learned;
    }

    OpenInputs open_inputs() {
        OpenInputs inputs;
        for (size_t i = 0; i < graph_.inputs().size(); ++i) inputs.shapes.push_back(present_shape(i));
        bool has_batch = false;
        for (auto& axis : axes_) {
            Extent size = size_of(axis);
            inputs.shapes[axis.input].set(axis.axis, size);
            if (size.is_number()) continue;
            inputs.dimensions.emplace(axis.name, size);
            has_batch |= axis.axis == 0;
        }
        if (has_batch) inputs.batch = present_batch(graph_);
        return inputs;
    }

private:
    const Shape& present_shape(size_t input) const { return graph_.value(graph_.inputs()[input]).spec.shape; }

    // Names of symbols that operators add begin with a question mark.
    static std::string symbol_name(std::string_view name) {
        return text(name.starts_with('?') ? "'" : "", name);
    }

    Extent size_of(const OpenAxis& axis) {
        auto symbol = [&](std::string_view name) {
            return std::optional(symbols_.get(symbol_name(name), axis.lower));
        };
        if (auto expression = expression_over(names_, axis.name)) return substitute(*expression, symbol);
        return *symbol(axis.name);
    }

    // A size that broadcasts with a number stays either 1 or that number.
    Guard as_present(Guard guard) const {
        if (guard.relation != Guard::Relation::broadcast || guard.a.is_number() == guard.b.is_number())
            return guard;
        if (guard.a.is_number()) std::swap(guard.a, guard.b);
        for (auto& name : symbols_of(guard.a))
            if (!present_.contains(name)) return guard;
        bool is_one = evaluate(guard.a, present_) == 1;
        return {guard.who, Guard::Relation::equal, guard.a, is_one ? Extent(1) : guard.b};
    }

    const Graph& graph_;
    std::vector<OpenAxis> axes_;
    DimensionNames names_;
    ExtentValues present_;  // by symbol
    SymbolTable symbols_;
};

}  // namespace

OpenInputs open_inputs(const Graph& graph, OpenAxes open) {
    Dimensions dimensions(graph, open);
    for (int round = 1; round <= most_rounds && dimensions.learn(); ++round) continue;
    return dimensions.open_inputs();
}

Shapes::Shapes(Graph& graph, const OpenInputs& inputs, const std::string& prefix)
    : graph_(graph), dimensions_(inputs.dimensions) {
    auto input = [&](ValueId id) {
        auto place = size_t(std::ranges::find(graph.inputs(), id) - graph.inputs().begin());
        return SymbolicValue{inputs.shapes[place]};
    };
    auto unknown = [](const std::string& name, int64_t lower) {
        return Extent::symbol(name, {.lower = lower});
    };
    SymbolicInference inference(
        graph, {.unknown = unknown, .input = input, .prefix = "?" + prefix, .follows_values = true});
    inference.follow();
    auto values = std::move(inference).take();
    for (size_t i = 0; i < values.size(); ++i) {
        auto& [shape, elements, constant, most_axes] = values[i];
        TensorSpec& spec = graph.value(ValueId(i)).spec;
        spec.shape = shape;
        constants_.push_back(constant || !elements ? constant : constant_of(*elements, spec));
    }
}

std::string Shapes::dimension_name(ValueId id, int axis) const {
    for (auto& [name, size] : dimensions_)
        if (shape(id).extent(axis).is(size)) return name;
    return {};
}

std::optional<int64_t> Shapes::extent(ValueId id, int axis) const {
    if (axis >= shape(id).rank() || !shape(id).extent(axis).is_number()) return std::nullopt;
    return shape(id)[axis];
}

std::optional<Shape> Shapes::fixed(ValueId id) const {
    return shape(id).is_known() && !shape(id).has_symbols() ? std::optional(shape(id)) : std::nullopt;
}

bool Shapes::is_same(ValueId a, ValueId b) const {
    if (!shape(a).is_known() || shape(a).rank() != shape(b).rank()) return false;
    for (int axis = 0; axis < shape(a).rank(); ++axis)
        if (!is_same_extent(a, axis, b, axis)) return false;
    return true;
}

bool Shapes::is_same_extent(ValueId a, int axis_a, ValueId b, int axis_b) const {
    return axis_a < shape(a).rank() && axis_b < shape(b).rank() &&
           is_equal(shape(a).extent(axis_a), shape(b).extent(axis_b)).value_or(false);
}

}  // namespace mge::to_onnx
