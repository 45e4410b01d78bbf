// SPDX-License-Identifier: Apache-2.0
// A graph is inferred in rounds. Each collects what operators demand of extents; what this says about symbols
// goes into the shapes of the next round: a symbol equals a number or other symbols, or has a lower bound.
#include "libmge/graph/symbolic/symbolic_shapes.h"

#include <algorithm>
#include <functional>
#include <set>

#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/symbolic/symbol_table.h"
#include "libmge/graph/symbolic/symbolic_inference.h"

namespace mge {
namespace {

// Each round solves some symbols. Symbols that are left after the last one count as unknown.
constexpr int most_rounds = 3;

// By position of the input.
std::vector<std::string> names_of_inputs(const Graph& graph) {
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (ValueId id : graph.inputs()) {
        auto& name = graph.value(id).name;
        bool is_usable = !name.empty() && name[0] != '?' && taken.insert(name).second;
        names.push_back(is_usable ? name : text("?input ", id));
    }
    return names;
}

// The bounds of a named dimension, at least 1.
ExtentBounds bounds_of(const Graph& graph, std::string_view name) {
    for (ValueId id : graph.inputs())
        for (auto& dimension : graph.value(id).dimensions)
            if (dimension.name == name)
                return {.lower = std::max<int64_t>(dimension.bounds.lower, 1),
                        .upper = dimension.bounds.upper};
    return {.lower = 1};
}

// The size of an axis of an input, given by its position; its symbols come from the table.
using DescribeAxis = std::function<Extent(size_t input, int axis, SymbolTable& symbols)>;

SymbolicShapes shapes_with(const Graph& graph, const DescribeAxis& describe, int rounds) {
    SymbolTable symbols;
    auto input = [&](ValueId id) {
        auto place = size_t(std::ranges::find(graph.inputs(), id) - graph.inputs().begin());
        SymbolicValue known{graph.value(id).spec.shape, {}, {}};
        if (place == graph.inputs().size()) return known;  // no input any more
        for (int axis = 0; axis < known.shape.rank(); ++axis)
            known.shape.set(axis, describe(place, axis, symbols));
        return known;
    };
    auto unknown = [&](const std::string& name, int64_t lower) { return symbols.get(name, lower); };
    for (int i = 1;; ++i) {
        SymbolicInference round(graph, {.unknown = unknown, .input = input});
        round.follow();
        bool has_learned = false;
        if (rounds > 1)
            for (auto& guard : round.guards()) has_learned |= symbols.learn(guard);
        if (has_learned && i < rounds) continue;
        SymbolicShapes result{{}, round.guards(), symbols.solved()};
        for (auto& value : std::move(round).take()) result.shapes.push_back(value.shape);
        return result;
    }
}

}  // namespace

SymbolicShapes symbolic_shapes(const Graph& graph) {
    auto names = names_of_inputs(graph);
    return shapes_with(
        graph,
        [&](size_t input, int axis, SymbolTable& symbols) {
            const int64_t size = graph.value(graph.inputs()[input]).spec.shape[axis];
            return symbols.get(text(names[input], '.', axis), std::min<int64_t>(size, 1));
        },
        most_rounds);
}

SymbolicShapes symbolic_shapes(const Graph& graph, ExtentOfAxis extent_of) {
    // The leading mark says that the bounds are right: sizes of 0 need no thought.
    auto bounded = [&](std::string_view name) {
        return std::optional(Extent::symbol(text("?size ", name), bounds_of(graph, name)));
    };
    return shapes_with(
        graph,
        [&](size_t input, int axis, SymbolTable&) {
            return substitute(extent_of(graph, input, axis), bounded);
        },
        1);
}

Extent named_extent(const Graph& graph, size_t input, int axis) {
    auto& value = graph.value(graph.inputs()[input]);
    auto* dimension = find_dimension(value.dimensions, axis);
    if (!dimension) return value.spec.shape[axis];
    if (dimension->name.empty()) return Extent::symbol(text("input ", input, '.', axis));
    if (auto extent = expression_over(all_dimension_names(graph), dimension->name)) return *extent;
    return Extent::symbol(dimension->name);
}

}  // namespace mge
