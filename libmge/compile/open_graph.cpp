// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/open_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/symbolic/symbolic_shapes.h"
#include "libmge/passes/pass.h"
#include "libmge/tensor/extent_terms.h"
#include "libmge/tensor/undecided.h"

namespace mge {
namespace {

constexpr int most_bits = 32;
// Smaller constants are not worth preparing.
constexpr int64_t fewest_weights = 1 << 14;

bool is_open(const OpenAxes& open, size_t input, int axis) {
    return axis < most_bits && (open[input] >> axis & 1) != 0;
}

// A new bound can decide comparisons that lead to further ones.
constexpr int most_rounds = 4;

using Bounds = std::map<std::string, ExtentBounds, std::less<>>;

// k * symbol + rest
struct Line {
    const ExtentAtom* symbol = nullptr;
    int64_t k = 0, rest = 0;
};

// Returns nullopt if the form has several symbols, or one inside a function.
std::optional<Line> line_of(const Extent& form) {
    Line line;
    for (auto& [product, k] : terms_of(form)) {
        if (product.empty()) {
            line.rest = k;
            continue;
        }
        if (line.symbol || product.size() > 1 || product[0]->kind != ExtentAtom::Kind::symbol)
            return std::nullopt;
        line.symbol = product[0];
        line.k = k;
    }
    return line.symbol ? std::optional(line) : std::nullopt;
}

// Narrows the bounds of the symbol to the values for which the line is at least 0.
void narrow(ExtentBounds& bounds, const Line& line) {
    if (line.k > 0)
        bounds.lower = std::max(bounds.lower, ceil_div(Extent(-line.rest), line.k).number());
    else
        bounds.upper = std::min(bounds.upper, floor_div(line.rest, -line.k).number());
}

// Bounds an open size so that a comparison has the answer that it has at the present sizes. Then a table of a
// fixed length is known to hold the size, for example: its slices have their full length.
void decide(const Undecided& comparison, const ExtentValues& sizes, Bounds& bounds) {
    using enum Undecided::Question;
    auto line = line_of(comparison.a - comparison.b);
    auto size = line ? sizes.find(line->symbol->text) : sizes.end();
    if (size == sizes.end()) return;
    const int64_t now = line->k * size->second + line->rest;
    // Equal numbers satisfy both answers to "which is larger".
    if (comparison.question == is_equal && now == 0) return;
    if (now >= 0)
        narrow(bounds[size->first], {line->symbol, line->k, line->rest - (comparison.question == is_equal)});
    else
        narrow(bounds[size->first],
               {line->symbol, -line->k, -line->rest - (comparison.question != which_is_larger)});
}

// Bounds the open sizes by the numbers with which they are compared while shapes are inferred.
void bound_open(Graph& graph) {
    const DimensionNames names = all_dimension_names(graph);
    ExtentValues sizes;  // by symbol
    for (ValueId id : graph.inputs())
        for (auto& dimension : graph.value(id).dimensions)
            if (!expression_over(names, dimension.name))
                sizes[text("?size ", dimension.name)] = graph.value(id).spec.shape[dimension.axis];
    for (int round = 0; round < most_rounds; ++round) {
        UndecidedScope scope;
        symbolic_shapes(graph, named_extent);
        Bounds bounds;
        for (auto& [symbol, size] : sizes) bounds[symbol] = {.lower = 1};
        for (auto& comparison : scope.comparisons()) decide(comparison, sizes, bounds);
        bool has_changed = false;
        for (ValueId id : graph.inputs())
            for (auto& dimension : graph.value(id).dimensions) {
                auto found = bounds.find(text("?size ", dimension.name));
                if (found == bounds.end()) continue;
                auto& now = dimension.bounds;
                ExtentBounds both{std::max(now.lower, found->second.lower),
                                  std::min(now.upper, found->second.upper)};
                has_changed |= !(now == both);
                now = both;
            }
        if (!has_changed) return;
    }
}

// Replaces the declared dimensions by those that are open here. Other names in their expressions become
// numbers: `past + new` is `past + 1` if `new` keeps its size.
void declare_open(Graph& graph, const OpenAxes& open) {
    const DimensionNames names = all_dimension_names(graph);
    DimensionNames open_names;
    ExtentValues fixed;
    for (size_t i = 0; i < open.size(); ++i)
        for (auto& dimension : graph.value(graph.inputs()[i]).dimensions) {
            if (is_open(open, i, dimension.axis))
                open_names.insert(dimension.name);
            else
                fixed[dimension.name] = graph.value(graph.inputs()[i]).spec.shape[dimension.axis];
        }
    auto number = [&](std::string_view name) -> std::optional<Extent> {
        auto found = open_names.contains(name) ? fixed.end() : fixed.find(name);
        return found == fixed.end() ? std::nullopt : std::optional<Extent>(found->second);
    };
    for (size_t i = 0; i < open.size(); ++i) {
        auto& dimensions = graph.value(graph.inputs()[i]).dimensions;
        std::erase_if(dimensions, [&](auto& each) { return !is_open(open, i, each.axis); });
        for (auto& dimension : dimensions) {
            dimension.bounds = {.lower = 1};
            if (auto extent = expression_over(names, dimension.name))
                dimension.name = text(substitute(*extent, number));
        }
    }
    bound_open(graph);
}

// Products with weights, which are packed for their kernels.
bool multiplies_weights(const Graph& graph, const Node& node) {
    for (ValueId id : node.inputs) {
        if (id == no_value || !graph.value(id).is_constant()) continue;
        const int64_t weights = graph.value(id).spec.numel();
        auto operations = weights < fewest_weights ? std::nullopt : footprint(graph, node).operations;
        if (operations && *operations >= 2 * double(weights)) return true;
    }
    return false;
}

// Folds the host values that are the same at all sizes into parameters.
void fold_known_values(Graph& graph) {
    KnownValues known;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        Tensors values;
        TensorSpecs recorded;
        for (ValueId id : node.inputs) values.push_back(known.find(graph, id));
        for (ValueId id : node.outputs) recorded.push_back(graph.value(id).spec);
        auto inferred = infer_application(*node.op, node.params, input_specs(graph, node), values, &recorded);
        if (!inferred.is_resolved) continue;
        node.params = inferred.params;
        node.inputs.resize(inferred.input_count);
        for (size_t k = 0; k < node.outputs.size(); ++k)
            graph.value(node.outputs[k]).spec = inferred.outputs[k];
        known.add(graph, NodeId(i));
    }
}

// True if the step is dynamic, as the schedule will say.
bool is_dynamic(const Graph& graph, const Node& node) {
    auto is_unknown = [&](ValueId id) { return id != no_value && !graph.value(id).spec.shape.is_known(); };
    return is_unresolved(node) || std::ranges::any_of(node.inputs, is_unknown) ||
           std::ranges::any_of(node.outputs, is_unknown);
}

}  // namespace

std::optional<OpenAxes> changed_axes(const Graph& graph, const TensorSpecs& a, const TensorSpecs& b) {
    if (a.size() != graph.inputs().size() || a.size() != b.size()) return std::nullopt;
    OpenAxes changed(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i]) continue;
        if (a[i].dtype != b[i].dtype || !(a[i].layout == b[i].layout) ||
            a[i].shape.rank() != b[i].shape.rank())
            return std::nullopt;
        auto& dimensions = graph.value(graph.inputs()[i]).dimensions;
        for (int axis = 0; axis < a[i].shape.rank(); ++axis) {
            if (a[i].shape[axis] == b[i].shape[axis]) continue;
            if (!find_dimension(dimensions, axis)) return std::nullopt;
            changed[i] |= uint32_t(1) << axis;
        }
    }
    return changed;
}

bool OpenGraph::accepts(const TensorSpecs& specs) const {
    if (specs.size() != inputs.size()) return false;
    ExtentValues values;
    for (size_t i = 0; i < specs.size(); ++i) {
        auto &wanted = inputs[i], &given = specs[i];
        if (given.dtype != wanted.dtype || !(given.layout == wanted.layout) ||
            given.shape.rank() != wanted.shape.rank())
            return false;
        for (int axis = 0; axis < given.shape.rank(); ++axis) {
            const Extent extent = wanted.shape.extent(axis);
            if (given.shape[axis] < extent.lower() || given.shape[axis] > extent.upper()) return false;
            if (auto solved_symbol = extent.is_number() ? std::nullopt : solve(extent, given.shape[axis]))
                if (!values.emplace(solved_symbol->name, solved_symbol->value).second &&
                    values.at(solved_symbol->name) != solved_symbol->value)
                    return false;
        }
    }
    auto has_value = [&](const std::string& name) { return values.contains(name); };
    auto is = [&](const Extent& extent, int64_t size) {
        return std::ranges::all_of(symbols_of(extent), has_value) && evaluate(extent, values) == size;
    };
    for (size_t i = 0; i < specs.size(); ++i)
        for (int axis = 0; axis < specs[i].shape.rank(); ++axis)
            if (!is(inputs[i].shape.extent(axis), specs[i].shape[axis])) return false;
    return std::ranges::all_of(guards, [&](auto& guard) { return holds(guard, values); });
}

std::optional<OpenGraph> open_graph(Graph graph, const OpenAxes& open, const CompileOptions& options) {
    OpenGraph result;
    for (ValueId id : graph.inputs()) result.inputs.push_back(graph.value(id).spec);
    declare_open(graph, open);
    PassOptions passes = pass_options(options);
    // Both work on the result when it is compiled: layouts depend on shapes, and the arithmetic on sizes must
    // be visible until then.
    passes.passes["choose_layout"] = passes.passes["fuse_elementwise"] = false;
    passes.fixed_shapes = false;
    passes.names_are_sizes = true;
    graph = run_passes(std::move(graph), passes);
    auto symbolic = symbolic_shapes(graph, named_extent);
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        result.inputs[i].shape = symbolic.shapes[size_t(graph.inputs()[i])];
    std::set<std::string> given;
    for (auto& spec : result.inputs)
        for (int axis = 0; axis < spec.shape.rank(); ++axis)
            for (auto& name : symbols_of(spec.shape.extent(axis))) given.insert(name);
    for (auto& guard : symbolic.guards)
        for (auto* extent : {&guard.a, &guard.b})
            for (auto& name : symbols_of(*extent))
                if (!given.contains(name)) return std::nullopt;

    int weights = 0;
    std::vector<bool> multiplies;
    for (auto& node : graph.nodes()) multiplies.push_back(multiplies_weights(graph, node));
    for (size_t id = 0; id < symbolic.shapes.size(); ++id) {
        auto& shape = symbolic.shapes[id];
        auto& spec = graph.value(ValueId(id)).spec;
        if (!shape.is_known() || shape.has_symbols()) spec = {spec.dtype, Shape::unknown(), {}};
    }
    fold_known_values(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        if (!multiplies[i]) continue;
        if (is_dynamic(graph, graph.node(NodeId(i)))) return std::nullopt;
        ++weights;
    }
    if (!weights) return std::nullopt;
    result.graph = std::move(graph);
    result.guards = std::move(symbolic.guards);
    return result;
}

}  // namespace mge
