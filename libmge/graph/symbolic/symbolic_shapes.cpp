// SPDX-License-Identifier: Apache-2.0
// A graph is inferred in rounds. Each collects what operators demand of extents; what this says about symbols
// goes into the shapes of the next round: a symbol equals a number or other symbols, or has a lower bound.
#include "libmge/graph/symbolic/symbolic_shapes.h"

#include <algorithm>
#include <set>

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

}  // namespace

SymbolicShapes symbolic_shapes(const Graph& graph) {
    SymbolTable symbols;
    auto names = names_of_inputs(graph);
    auto input = [&](ValueId id) {
        auto place = size_t(std::ranges::find(graph.inputs(), id) - graph.inputs().begin());
        SymbolicValue known{graph.value(id).spec.shape, {}, {}};
        if (place == names.size()) return known;  // no input any more
        for (int axis = 0; axis < known.shape.rank(); ++axis)
            known.shape.set(
                axis, symbols.get(text(names[place], '.', axis), std::min<int64_t>(known.shape[axis], 1)));
        return known;
    };
    auto unknown = [&](const std::string& name, int64_t lower) { return symbols.get(name, lower); };
    for (int i = 1;; ++i) {
        SymbolicInference round(graph, {.unknown = unknown, .input = input});
        round.follow();
        bool has_learned = false;
        for (auto& guard : round.guards()) has_learned |= symbols.learn(guard);
        if (has_learned && i < most_rounds) continue;
        SymbolicShapes result{{}, round.guards(), symbols.solved()};
        for (auto& value : std::move(round).take()) result.shapes.push_back(value.shape);
        return result;
    }
}

}  // namespace mge
