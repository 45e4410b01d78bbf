// SPDX-License-Identifier: Apache-2.0
// Rewrites that need no more than a node and the nodes right before it. Each row of the table is headed by
// its algebra. A row applies to nodes of the graph being built, whose inputs were simplified already, so
// chains collapse step by step. None may change a shape or a dtype; rows that would change rounding for the
// worse are not here. Where shapes are not fixed, only what holds at every shape is done: no extent is
// written into the graph, and two shapes that are equal now do not count as equal.

#include <algorithm>

#include "libmge/graph/infer.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/transpose.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// The node at hand. Rules answer a value of the graph that stands for its output, no_value when they do not
// apply.
struct Site {
    Graph& graph;
    const OpInfo& op;
    const void* params;
    const std::vector<ValueId>& inputs;
    TensorSpec result;  // of output 0
    bool fixed_shapes;
    DeviceId place;

    const TensorSpec& spec(size_t i) const { return graph.value(inputs[i]).spec; }
    template <class P>
    const P& as() const {
        return *static_cast<const P*>(params);
    }
    // The node that makes a value, or input i, when it applies the operator; else null.
    template <class O>
    const Node* maker_of(ValueId value) const {
        NodeId id = graph.value(value).producer;
        return id >= 0 && graph.node(id).op == &O::info ? &graph.node(id) : nullptr;
    }
    template <class O>
    const Node* made_by(size_t i) const {
        return maker_of<O>(inputs[i]);
    }
    // For operators whose result always has the shape of the value.
    ValueId same(ValueId value) const { return graph.value(value).spec == result ? value : no_value; }
    // One element, which makes no shape larger.
    bool is_one_element(size_t i) const {
        auto& shape = spec(i).shape;
        return std::ranges::all_of(shape, [](int64_t extent) { return extent == 1; });
    }
    template <class O>
    ValueId make(const typename O::Params& params, std::vector<ValueId> inputs) const {
        return make(O::info, std::make_shared<const typename O::Params>(params), std::move(inputs));
    }
    ValueId make(const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs) const {
        NodeId id = graph.add_node(op, std::move(params), std::move(inputs), {}, nullptr, &place);
        ValueId value = graph.node(id).outputs[0];
        MGE_CHECK(graph.value(value).spec == result, op.name, " gives ", graph.value(value).spec, ", not ",
                  result);
        return value;
    }
};

IntList dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Is every element of the constant behind a value equal to `wanted`?
bool is_all(const Graph& graph, ValueId id, double wanted) {
    Tensor t = constant_of(graph, id);
    if (!t || t.spec().numel() == 0) return false;
    auto all = [&](auto* p) {
        return std::all_of(p, p + t.spec().numel(), [&](auto v) { return v == wanted; });
    };
    if (t.dtype() == DType::f32) return all(t.data<float>());
    if (t.dtype() == DType::i32) return all(t.data<int32_t>());
    return false;
}

// x + 0 => x, 0 + x => x; x * 1 => x, 1 * x => x
template <int Neutral>
ValueId drop_neutral(const Site& s) {
    for (size_t side : {1, 0})
        if (is_all(s.graph, s.inputs[side], Neutral) && (s.fixed_shapes || s.is_one_element(side)))
            return s.same(s.inputs[1 - side]);
    return no_value;
}
// x - 0 => x; x / 1 => x, x ^ 1 => x
template <int Neutral>
ValueId drop_right_neutral(const Site& s) {
    bool is_neutral = is_all(s.graph, s.inputs[1], Neutral) && (s.fixed_shapes || s.is_one_element(1));
    return is_neutral ? s.same(s.inputs[0]) : no_value;
}
// x ^ 2 => x²; x ^ 3 => x² · x
ValueId power_as_product(const Site& s) {
    if (!(s.spec(0) == s.result) || !s.is_one_element(1)) return no_value;
    bool is_cube = is_all(s.graph, s.inputs[1], 3);
    if (!is_cube && !is_all(s.graph, s.inputs[1], 2)) return no_value;
    ValueId square = s.make<ops::Square>({}, {s.inputs[0]});
    return is_cube ? s.make<ops::Mul>({}, {square, s.inputs[0]}) : square;
}
// log(exp(x)) => x; log(exp(a) + exp(b)) => logaddexp(a, b)
ValueId log_of_exp(const Site& s) {
    if (auto* exp = s.made_by<ops::Exp>(0)) return s.same(exp->inputs[0]);
    auto* sum = s.made_by<ops::Add>(0);
    if (!sum) return no_value;
    std::vector<ValueId> terms;
    for (ValueId id : sum->inputs) {
        auto* exp = s.maker_of<ops::Exp>(id);
        if (!exp) return no_value;
        terms.push_back(exp->inputs[0]);
        if (s.graph.value(terms.back()).spec.dtype != s.result.dtype) return no_value;
    }
    return s.make<ops::Logaddexp>({}, std::move(terms));
}
// -(-x) => x
ValueId double_negation(const Site& s) {
    auto* neg = s.made_by<ops::Neg>(0);
    return neg ? s.same(neg->inputs[0]) : no_value;
}
// copy(x) => x
ValueId drop_copy(const Site& s) { return s.same(s.inputs[0]); }

// Every value of `from` is exactly a value of `to`.
bool is_lossless(DType from, DType to) {
    if (from == to) return true;
    if (from == DType::boolean) return !is_narrow(to);
    if (is_float(from) && is_float(to)) return to == DType::f64 || (to == DType::f32 && from != DType::f64);
    return is_int(from) && is_int(to) && is_unsigned(from) == is_unsigned(to) && size_of(from) <= size_of(to);
}
// convert(x; own dtype) => x; convert(convert(x; wider); d) => convert(x; d)
ValueId drop_conversion(const Site& s) {
    if (s.spec(0) == s.result) return s.inputs[0];
    auto* inner = s.made_by<ops::Convert>(0);
    if (!inner || !is_lossless(s.graph.value(inner->inputs[0]).spec.dtype, s.spec(0).dtype)) return no_value;
    ValueId x = inner->inputs[0];
    if (ValueId same = s.same(x); same != no_value) return same;
    return s.make<ops::Convert>(s.as<ops::Convert::Params>(), {x});
}
// flatten(x; one axis) => x; reshape(view(x); shape) => reshape(x; shape), which only count elements. A view
// that is made once waits for other values.
ValueId merge_views_of_any_shape(const Site& s) {
    if (&s.op == &ops::Flatten::info && s.spec(0).shape.rank() == s.result.shape.rank())
        return s.same(s.inputs[0]);
    NodeId producer = s.graph.value(s.inputs[0]).producer;
    if (&s.op != &ops::Reshape::info || producer < 0) return no_value;
    auto& traits = s.graph.node(producer).op->traits;
    if (!traits.view || traits.once) return no_value;
    return s.make<ops::Reshape>(s.as<ops::Reshape::Params>(), {s.graph.node(producer).inputs[0]});
}
// reshape(x; own shape) => x; reshape(reshape(x)) => reshape(x); all views are written as reshape
ValueId merge_views(const Site& s) {
    if (!s.fixed_shapes) return merge_views_of_any_shape(s);
    if (s.spec(0) == s.result) return s.inputs[0];
    ValueId x = s.inputs[0];
    NodeId producer = s.graph.value(x).producer;
    bool is_chain = producer >= 0 && s.graph.node(producer).op == &ops::Reshape::info;
    if (is_chain) x = s.graph.node(producer).inputs[0];
    if (ValueId same = s.same(x); same != no_value) return same;
    if (!is_chain && &s.op == &ops::Reshape::info) return no_value;
    return s.make<ops::Reshape>({.shape = dims_of(s.result.shape)}, {x});
}
// transpose(x; identity) => x; transpose(transpose(x; p); q) => transpose(x; p ∘ q)
ValueId merge_transposes(const Site& s) {
    auto& outer = s.as<ops::Transpose::Params>().pattern;
    auto is_identity = [](const IntList& pattern) {
        for (size_t i = 0; i < pattern.size(); ++i)
            if (pattern[i] != int64_t(i)) return false;
        return true;
    };
    if (is_identity(outer)) return s.same(s.inputs[0]);
    auto* inner = s.made_by<ops::Transpose>(0);
    if (!inner) return no_value;
    auto& first = inner->as<ops::Transpose::Params>().pattern;
    IntList both;
    for (int64_t axis : outer) {
        if (axis < 0 || size_t(axis) >= first.size() || first[size_t(axis)] < 0) return no_value;
        both.push_back(first[size_t(axis)]);
    }
    if (is_identity(both)) return s.same(inner->inputs[0]);
    return s.make<ops::Transpose>({.pattern = both}, {inner->inputs[0]});
}
// broadcast_like(x, y) => broadcast_to(x; shape of y), so that y need not be kept; to the own shape => x
ValueId broadcast_to_shape(const Site& s) {
    if (!s.fixed_shapes) return no_value;
    if (s.spec(0) == s.result) return s.inputs[0];
    if (&s.op == &ops::BroadcastTo::info) return no_value;
    return s.make<ops::BroadcastTo>({.shape = dims_of(s.result.shape)}, {s.inputs[0]});
}
// reduce_to_shape(x, y) => reduce_to_shape(x; shape of y); to the own shape => x
ValueId reduce_to_known_shape(const Site& s) {
    if (!s.fixed_shapes) return no_value;
    if (s.spec(0) == s.result) return s.inputs[0];
    if (s.inputs.size() < 2 || s.inputs[1] == no_value) return no_value;
    return s.make<ops::ReduceToShape>({.shape = dims_of(s.result.shape)}, {s.inputs[0]});
}
// full_like(x; v) => full(; shape of x, v)
ValueId fill_known_shape(const Site& s) {
    if (!s.fixed_shapes) return no_value;
    return s.make<ops::Full>({.shape = dims_of(s.result.shape),
                              .value = s.as<ops::FullLike::Params>().value,
                              .dtype = s.result.dtype},
                             {});
}

struct Rule {
    const OpInfo* op;
    ValueId (*apply)(const Site&);
};
const Rule rules[] = {
    {&ops::Add::info, drop_neutral<0>},
    {&ops::AddAxis::info, merge_views},
    {&ops::BroadcastLike::info, broadcast_to_shape},
    {&ops::BroadcastTo::info, broadcast_to_shape},
    {&ops::Convert::info, drop_conversion},
    {&ops::Copy::info, drop_copy},
    {&ops::Div::info, drop_right_neutral<1>},
    {&ops::Flatten::info, merge_views},
    {&ops::FullLike::info, fill_known_shape},
    {&ops::Log::info, log_of_exp},
    {&ops::Mul::info, drop_neutral<1>},
    {&ops::Neg::info, double_negation},
    {&ops::Pow::info, drop_right_neutral<1>},
    {&ops::Pow::info, power_as_product},
    {&ops::ReduceToShape::info, reduce_to_known_shape},
    {&ops::RemoveAxis::info, merge_views},
    {&ops::Reshape::info, merge_views},
    {&ops::ReshapeLike::info, merge_views},
    {&ops::Sub::info, drop_right_neutral<0>},
    {&ops::Transpose::info, merge_transposes},
};

bool has_rule(const Node& node) { return std::ranges::find(rules, node.op, &Rule::op) != std::end(rules); }

bool is_settled(const Graph& graph, const Node& node) {
    if (node.outputs.size() != 1) return false;
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids)
            if (id != no_value && !graph.value(id).spec.shape.is_known()) return false;
    return !is_unresolved(node);
}

ValueId simplify(Rewrite& rewrite, const Node& node, const std::vector<ValueId>& inputs,
                 const PassOptions& options) {
    auto& graph = rewrite.source();
    if (!is_settled(graph, node)) return no_value;
    Site site{
        rewrite.target(),     *node.op,         node.params.get(), inputs, graph.value(node.outputs[0]).spec,
        options.fixed_shapes, graph.place(node)};
    for (auto& rule : rules)
        if (rule.op == node.op)
            if (ValueId value = rule.apply(site); value != no_value) return value;
    return no_value;
}

}  // namespace

Graph simplify_algebra(Graph graph, const PassOptions& options) {
    if (std::ranges::none_of(graph.nodes(), has_rule)) return remove_dead_nodes(std::move(graph), options);
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        auto inputs = rewrite(node.inputs);
        ValueId value = simplify(rewrite, node, inputs, options);
        if (value != no_value)
            rewrite.replace(node.outputs[0], value);
        else
            rewrite.copy_with(NodeId(i), node.params, std::move(inputs));
    }
    return remove_dead_nodes(rewrite.finish(), options);
}

}  // namespace mge
