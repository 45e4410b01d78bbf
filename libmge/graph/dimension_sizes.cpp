// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/dimension_sizes.h"

#include <algorithm>
#include <map>

#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/base/rethrow.h"
#include "libmge/base/utf8.h"

namespace mge {
namespace {

// Calls `visit(input position, dimension)` for each named dimension.
template <class Visit>
void each_named(const Graph& graph, Visit visit) {
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        for (auto& dimension : graph.value(graph.inputs()[i]).dimensions)
            if (!dimension.name.empty()) visit(i, dimension);
}

}  // namespace

DimensionNames all_dimension_names(const Graph& graph) {
    DimensionNames names;
    each_named(graph, [&](size_t, auto& dimension) { names.insert(dimension.name); });
    return names;
}

namespace {

std::optional<int64_t> size_by_name(const DimensionNames& names, const ExtentValues& sizes,
                                    const std::string& name) {
    if (auto found = sizes.find(name); found != sizes.end()) return found->second;
    auto extent = expression_over(names, name);
    if (!extent) return std::nullopt;
    auto is_given = [&](const std::string& symbol) { return sizes.contains(symbol); };
    if (!std::ranges::all_of(symbols_of(*extent), is_given)) return std::nullopt;
    return evaluate(*extent, sizes);
}

void require_names(const Graph& graph, const ExtentValues& sizes, std::string_view who) {
    if (sizes.empty()) return;
    auto known = dimension_names(graph);
    auto quoted = [](auto& name) { return "'" + printable(name) + "'"; };
    for (auto& [name, size] : sizes)
        if (std::ranges::find(known, name) == known.end())
            throw_value_error(who, known.empty()
                                       ? text("the model's inputs have no named dimensions, got '", name, "'")
                                       : text("the model has no dimension '", name, "'; it has ",
                                              joined(known, ", ", quoted)));
}

// Calls `visit(input position, dimension, size)` for each dimension whose size follows from `sizes`.
template <class Visit>
void each_sized(const Graph& graph, const ExtentValues& sizes, Visit visit) {
    if (sizes.empty()) return;
    auto names = all_dimension_names(graph);
    each_named(graph, [&](size_t i, auto& dimension) {
        if (auto size = size_by_name(names, sizes, dimension.name)) visit(i, dimension, *size);
    });
}

struct SizeConflict {
    struct Given {
        std::string input;
        int64_t size;
    };
    std::string name;
    Given first, second;
};

// Returns the first name to which two axes of the inputs give different sizes; nullopt if there is none.
std::optional<SizeConflict> find_conflict(const Graph& graph, const TensorSpecs& inputs) {
    std::map<std::string, SizeConflict::Given> given;
    std::optional<SizeConflict> conflict;
    each_named(graph, [&](size_t i, const OpenDimension& dimension) {
        if (conflict || i >= inputs.size() || dimension.axis >= inputs[i].shape.rank()) return;
        SizeConflict::Given here{printable(graph.value(graph.inputs()[i]).name),
                                 inputs[i].shape[dimension.axis]};
        auto& first = given.try_emplace(dimension.name, here).first->second;
        if (first.size != here.size) conflict = {printable(dimension.name), first, here};
    });
    return conflict;
}

}  // namespace

std::optional<Extent> expression_over(const DimensionNames& names, const std::string& name) {
    auto extent = parse_extent(name);
    if (!extent || extent->is_number()) return std::nullopt;
    auto is_other = [&](const std::string& symbol) { return symbol != name && names.contains(symbol); };
    return std::ranges::all_of(symbols_of(*extent), is_other) ? extent : std::nullopt;
}

const OpenDimension* find_dimension(const OpenDimensions& dimensions, int axis) {
    auto found = std::ranges::find(dimensions, axis, &OpenDimension::axis);
    return found == dimensions.end() ? nullptr : &*found;
}

std::vector<std::string> dimension_names(const Graph& graph) {
    auto names = all_dimension_names(graph);
    std::vector<std::string> result;
    auto rest = names;
    each_named(graph, [&](size_t, auto& dimension) {
        if (rest.erase(dimension.name) && !expression_over(names, dimension.name))
            result.push_back(dimension.name);
    });
    return result;
}

TensorSpecs specs_with_sizes(const Graph& graph, const ExtentValues& sizes, std::string_view who) {
    require_names(graph, sizes, who);
    TensorSpecs specs;
    for (ValueId id : graph.inputs()) specs.push_back(graph.value(id).spec);
    each_sized(graph, sizes, [&](size_t i, const OpenDimension& dimension, int64_t size) {
        auto& bounds = dimension.bounds;
        int64_t least = std::max<int64_t>(bounds.lower, 0);
        if (size < least || size > bounds.upper)
            throw_value_error(
                who, "dimension '", printable(dimension.name), "' is at least ", least,
                bounds.upper == ExtentBounds::unbounded ? "" : text(" and at most ", bounds.upper), ", got ",
                size);
        if (dimension.axis < specs[i].shape.rank()) specs[i].shape[dimension.axis] = size;
    });
    return specs;
}

std::optional<std::string> find_contradiction(const Graph& graph, const ExtentValues& sizes,
                                              const TensorSpecs& inputs) {
    std::optional<std::string> result;
    each_sized(graph, sizes, [&](size_t i, const OpenDimension& dimension, int64_t size) {
        auto& shape = inputs.at(i).shape;
        if (!result && dimension.axis < shape.rank() && shape[dimension.axis] != size)
            result = text("dimension '", printable(dimension.name), "' is ", size, ", but input '",
                          printable(graph.value(graph.inputs()[i]).name), "' has the shape ", shape);
    });
    return result;
}

Graph infer_with_names(Graph graph, const TensorSpecs& inputs) {
    auto conflict = find_conflict(graph, inputs);
    if (!conflict) return infer_shapes(std::move(graph), inputs);
    auto& [name, first, second] = *conflict;
    try {
        graph = infer_shapes(std::move(graph), inputs);
    } catch (const UserError&) {
        rethrow_in(text("dimension '", name, "' is ", first.size, " in input '", first.input, "' and ",
                        second.size, " in input '", second.input, "'"));
    }
    // The text is the same for all sizes, so a loop over sizes warns once.
    log_warning(text("inputs '", first.input, "' and '", second.input, "' differ in the size of dimension '",
                     name, "', which the model calls equal"));
    return graph;
}

std::string named_shape_text(const Shape& shape, const OpenDimensions& dimensions) {
    if (!shape.is_known() || dimensions.empty()) return text(shape);
    std::string result;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        result += axis ? ", " : "(";
        if (auto* dimension = find_dimension(dimensions, axis))
            result += (dimension->name.empty() ? "?" : printable(dimension->name)) + "=";
        result += std::to_string(shape[axis]);
    }
    return result + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace mge
