// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/inner_graph.h"

#include <algorithm>

#include "libmge/base/hash.h"
#include "libmge/device/device.h"
#include "libmge/graph/builder.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/origins.h"
#include "libmge/graph/symbolic/symbolic_inference.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"

namespace mge {
namespace {

constexpr size_t kept_inferences = 8;

// The canonical text of a graph. Values are numbered in order of use, because files number them differently.
// Shapes except those of constants follow from the inputs, and names are irrelevant.
class Canonical {
public:
    explicit Canonical(const Graph& graph) : graph_(graph), numbers_(graph.values().size(), -1) {
        for (ValueId id : graph.inputs()) what_ += text(number(id), graph.value(id).spec.dtype, ';');
        for (auto& node : graph.nodes()) {
            what_ += text(node.op->name, node.op->version, '(',
                          params_text(node.op->fields, node.params.get()), ')');
            add(node.inputs);
            add(node.outputs);
        }
        add(graph.outputs());
    }
    uint64_t hash() const { return checksum(what_); }

private:
    int number(ValueId id) {
        if (id == no_value) return -1;
        int& number = numbers_[size_t(id)];
        if (number >= 0) return number;
        number = next_++;
        auto& value = graph_.value(id);
        if (value.is_constant())
            what_ += text(value.spec, checksum(value.constant.data(), value.spec.bytes()), ';');
        return number;
    }
    void add(const std::vector<ValueId>& ids) {
        for (ValueId id : ids) what_ += text(number(id), ' ');
        what_ += ';';
    }

    const Graph& graph_;
    std::vector<int> numbers_;
    int next_ = 0;
    std::string what_;
};

// Constants and values without inputs are on the operator's device.
Graph at_default_place(Graph graph) {
    for (size_t i = 0; i < graph.values().size(); ++i)
        if (auto& value = graph.value(ValueId(i)); value.is_constant()) value.device = {};
    return graph;
}

Tensors add_inputs(GraphBuilder& builder, Specs specs) {
    Tensors inputs;
    for (auto& spec : specs) inputs.push_back(builder.input(spec, text("in_", inputs.size())));
    return inputs;
}

// Makes the guard one of the innermost scope.
void require(const Guard& guard) {
    if (guard.relation == Guard::Relation::equal)
        can_be_equal(guard.who, guard.a, guard.b);
    else if (guard.relation == Guard::Relation::at_least)
        can_be_at_least(guard.who, guard.a, guard.b);
    else
        broadcast_extents(guard.who, guard.a, guard.b);
}

// Guards of the graph become those of the caller. Undecidable if an extent of a result cannot be inferred.
TensorSpecs infer_symbolically(const Graph& graph, const TensorSpecs& inputs) {
    const std::string prefix = text('?', &graph, ':');  // unlike that of graphs around this one
    SymbolicInference inference(
        graph, {.unknown = [](const std::string& name,
                              int64_t lower) { return Extent::symbol(name, {.lower = lower}); },
                .input =
                    [&](ValueId id) {
                        auto place = std::ranges::find(graph.inputs(), id) - graph.inputs().begin();
                        return SymbolicValue{inputs.at(size_t(place)).shape};
                    },
                .prefix = prefix,
                .follows_values = true});
    TensorSpecs outputs;
    for (ValueId id : graph.outputs()) {
        auto& shape = inference.at(id).shape;
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (auto& name : symbols_of(shape.extent(axis)))
                if (name.find(prefix) != std::string::npos)
                    throw Undecidable("a size of a result follows from values of the graph");
        outputs.push_back({graph.value(id).spec.dtype, shape, {}});
    }
    for (auto& guard : inference.guards()) require(guard);
    return outputs;
}

}  // namespace

InnerGraph::InnerGraph(Graph graph)
    : graph_(at_default_place(std::move(graph))),
      has_effect_(std::ranges::any_of(graph_.nodes(), [](auto& node) { return mge::has_effect(node); })) {}

uint64_t InnerGraph::hash() const {
    std::call_once(hashed_, [&] { hash_ = Canonical(graph_).hash(); });
    return hash_;
}

TensorSpecs InnerGraph::infer(Specs inputs) const {
    TensorSpecs specs(inputs.begin(), inputs.end());
    for (auto& spec : specs) spec.layout = {};
    if (std::ranges::any_of(specs, [](auto& spec) { return spec.shape.has_symbols(); }))
        return infer_symbolically(graph_, specs);
    {
        std::lock_guard lock(mutex_);
        for (auto& [known, outputs] : inferred_)
            if (known == specs) return outputs;
    }
    Graph graph = infer_shapes(graph_, specs);
    TensorSpecs outputs;
    for (ValueId id : graph.outputs()) outputs.push_back(graph.value(id).spec);
    std::lock_guard lock(mutex_);
    if (inferred_.size() == kept_inferences) inferred_.erase(inferred_.begin());
    inferred_.emplace_back(std::move(specs), outputs);
    return outputs;
}

Tensors InnerGraph::apply(std::span<const Tensor> inputs) const { return apply_graph(graph_, inputs); }

Tensors apply_graph(const Graph& graph, std::span<const Tensor> inputs) {
    MGE_CHECK(inputs.size() == graph.inputs().size());
    Tensors values(graph.values().size());
    std::vector<int> uses = graph.use_counts();
    for (size_t i = 0; i < inputs.size(); ++i) values[size_t(graph.inputs()[i])] = inputs[i];
    auto given = std::ranges::find_if(inputs, [](auto& input) { return bool(input); });
    DeviceId place = given == inputs.end() ? host_device : given->device();
    for (size_t i = 0; i < values.size(); ++i)
        if (auto& value = graph.value(ValueId(i)); value.is_constant())
            values[i] = to_device(value.constant, place);
    for (auto& node : graph.nodes()) {
        Tensors operands;
        for (ValueId id : node.inputs) operands.push_back(id == no_value ? Tensor{} : values[size_t(id)]);
        Tensors results = mge::apply(*node.op, node.params.get(), operands);
        for (size_t i = 0; i < results.size(); ++i) values[size_t(node.outputs[i])] = std::move(results[i]);
        for (ValueId id : node.inputs)
            if (id != no_value && --uses[size_t(id)] == 0) values[size_t(id)] = {};
    }
    Tensors outputs;
    for (ValueId id : graph.outputs()) outputs.push_back(values[size_t(id)]);
    return outputs;
}

SubgraphRef InnerGraph::gradient(const std::vector<size_t>& of, const std::vector<size_t>& wrt) const {
    Graph graph = graph_;
    std::vector<ValueId> ys, dys, xs;
    for (size_t i : of) {
        ys.push_back(graph.outputs().at(i));
        dys.push_back(graph.add_input(graph.value(ys.back()).spec, text("gradient_", i)));
    }
    for (size_t i : wrt) xs.push_back(graph.inputs().at(i));
    auto grads = add_gradient(graph, ys, dys, xs);
    GraphBuilder builder(std::move(graph));
    InterpreterScope scope(builder);
    Tensors outputs;
    for (size_t i = 0; i < xs.size(); ++i)
        outputs.push_back(grads[i] == no_value ? ops::full_like(builder.symbol(xs[i]), {.value = 0})
                                               : builder.symbol(grads[i]));
    builder.set_outputs(outputs);
    return make_subgraph(builder.take());
}

SubgraphRef InnerGraph::with_constants(const std::map<size_t, Tensor>& values) const {
    Graph graph = graph_;
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        ValueId id = graph.inputs()[i];
        auto found = values.find(i);
        if (found == values.end()) {
            inputs.push_back(id);
            continue;
        }
        auto& fixed = graph.value(id);
        fixed.is_input = false;
        fixed.constant = to_host(found->second);
        fixed.spec = fixed.constant.spec();
    }
    graph.set_inputs(std::move(inputs));
    return make_subgraph(std::move(graph));
}

Footprint InnerGraph::footprint(Specs inputs) const {
    Graph graph = infer_shapes(graph_, TensorSpecs(inputs.begin(), inputs.end()));
    Footprint sum{0, 0};
    for (auto& node : graph.nodes()) {
        Footprint one = mge::footprint(graph, node);
        *sum.operations += one.operations.value_or(0);
        *sum.bytes += one.bytes.value_or(0);
    }
    return sum;
}

SubgraphRef make_subgraph(Graph graph) { return std::make_shared<const InnerGraph>(std::move(graph)); }

const Graph& graph_of(const SubgraphRef& subgraph) {
    auto* inner = dynamic_cast<const InnerGraph*>(subgraph.get());
    MGE_CHECK(inner, "no graph");
    return inner->graph();
}

std::vector<HeldGraph> held_graphs(const OpInfo& op, const void* params) {
    std::vector<HeldGraph> held;
    if (!op.traits.control) return held;
    for (auto& field : op.fields)
        if (ParamValue value = field.get(params); auto* graph = std::get_if<SubgraphRef>(&value))
            if (*graph) held.push_back({field.name, *graph});
    return held;
}

std::vector<HeldGraph> held_graphs(const Node& node) { return held_graphs(*node.op, node.params.get()); }

std::vector<PathGraph> with_inner_graphs(const Graph& graph) {
    std::vector<PathGraph> all{{"", &graph}};
    for (size_t i = 0; i < all.size(); ++i)  // `all` grows
        for (auto& node : all[i].graph->nodes())
            for (auto& held : held_graphs(node))
                all.push_back({text(all[i].path, node_label(*all[i].graph, node), '/', held.parameter, '/'),
                               &graph_of(held.graph)});
    return all;
}

const Value* find_value(const Graph& graph, std::string_view path) {
    for (auto& [start, inner] : with_inner_graphs(graph)) {
        if (!path.starts_with(start)) continue;
        std::string_view name = path.substr(start.size());
        for (size_t i = 0; i < inner->values().size(); ++i)
            if (value_label(*inner, ValueId(i)) == name) return &inner->value(ValueId(i));
    }
    return nullptr;
}

bool has_effect(const OpInfo& op, const void* params) {
    if (op.traits.effect) return true;
    return std::ranges::any_of(held_graphs(op, params), [](auto& held) { return held.graph->has_effect(); });
}

bool has_effect(const Node& node) { return has_effect(*node.op, node.params.get()); }

SubgraphRef make_subgraph(Specs inputs, const std::function<Tensors(std::span<const Tensor>)>& function) {
    GraphBuilder builder;
    Tensors arguments = add_inputs(builder, inputs);
    InterpreterScope scope(builder);
    builder.set_outputs(function(arguments));
    return make_subgraph(builder.take());
}

SubgraphRef capture_subgraph(Specs inputs, Tensors& captured,
                             const std::function<Tensors(std::span<const Tensor>)>& function,
                             DeviceId place) {
    GraphBuilder builder;
    builder.capture({}, place);
    Tensors arguments = add_inputs(builder, inputs);
    builder.capture(captured, place);
    InterpreterScope scope(builder);
    try {
        builder.set_outputs(function(arguments));
    } catch (...) {
        builder.take_captured();
        throw;
    }
    captured = builder.captured();
    return make_subgraph(builder.take_captured());
}

}  // namespace mge
