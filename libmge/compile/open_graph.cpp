// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/open_graph.h"

#include <algorithm>
#include <set>

#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/symbolic/symbolic_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr int most_bits = 32;
// Smaller constants are not worth preparing.
constexpr int64_t fewest_weights = 1 << 14;

bool is_open(const OpenAxes& open, size_t input, int axis) {
    return axis < most_bits && (open[input] >> axis & 1) != 0;
}

// The sizes of constants, and those of inputs that are not open.
std::set<int64_t> fixed_sizes(const Graph& graph, const OpenAxes& open) {
    std::set<int64_t> sizes;
    for (size_t i = 0; i < open.size(); ++i) {
        auto& shape = graph.value(graph.inputs()[i]).spec.shape;
        for (int axis = 0; axis < shape.rank(); ++axis)
            if (!is_open(open, i, axis)) sizes.insert(shape[axis]);
    }
    for (auto& value : graph.values())
        if (value.is_constant()) sizes.insert(value.spec.shape.begin(), value.spec.shape.end());
    return sizes;
}

// Bounds an open size by the next fixed size. Then it is decided that a table or a cache of a fixed length
// holds it: its slices have their full length, and nothing extends it.
ExtentBounds bounds_around(int64_t size, const std::set<int64_t>& fixed) {
    auto next = fixed.upper_bound(size);
    return {.lower = 1, .upper = next == fixed.end() ? ExtentBounds::unbounded : *next - 1};
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
    const auto fixed_here = fixed_sizes(graph, open);
    for (size_t i = 0; i < open.size(); ++i) {
        auto& dimensions = graph.value(graph.inputs()[i]).dimensions;
        std::erase_if(dimensions, [&](auto& each) { return !is_open(open, i, each.axis); });
        for (auto& dimension : dimensions) {
            const int64_t size = graph.value(graph.inputs()[i]).spec.shape[dimension.axis];
            dimension.bounds = bounds_around(size, fixed_here);
            if (auto extent = expression_over(names, dimension.name))
                dimension.name = text(substitute(*extent, number));
        }
    }
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
