// SPDX-License-Identifier: Apache-2.0
// Rewrites that only need a node and its direct inputs. The algebra of each row of the table is above it. A
// row applies to nodes of the graph under construction, whose inputs are simplified already, so chains
// collapse step by step. No row may change a shape or a dtype, or make rounding worse. If shapes are not
// fixed, only rewrites that are valid at every shape apply: no size is written into the graph, and two shapes
// that happen to be equal do not count as equal.

#include <algorithm>

#include "libmge/graph/infer.h"
#include "libmge/graph/match.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using match::any, match::capture, match::either_order, match::made, match::Match, match::New, match::node,
    match::op, match::Pattern, match::shared;
using Answer = std::optional<New>;

// For operators whose result always has the shape of the value.
Answer same(const Match& m, ValueId value) {
    return value != no_value && m.spec(value) == m.result() ? Answer(value) : std::nullopt;
}
Answer same_as_x(const Match& m, const PassOptions&) { return same(m, m["x"]); }

IntList dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// One element, which makes no shape larger.
bool is_one_element(const TensorSpec& spec) {
    return std::ranges::all_of(spec.shape, [](int64_t extent) { return extent == 1; });
}
// Is every element of the constant "c" equal to `wanted`?
bool is_all(const Match& m, double wanted) {
    const Tensor& t = m.constant("c");
    if (t.spec().numel() == 0) return false;
    auto all = [&](auto* p) {
        return std::all_of(p, p + t.spec().numel(), [&](auto v) { return v == wanted; });
    };
    if (t.dtype() == DType::f32) return all(t.data<float>());
    if (t.dtype() == DType::i32) return all(t.data<int32_t>());
    return false;
}

// x + 0 => x, 0 + x => x; x * 1 => x, 1 * x => x; x - 0 => x; x / 1 => x, x ^ 1 => x
template <int Neutral>
Answer drop_neutral(const Match& m, const PassOptions& options) {
    bool is_neutral = is_all(m, Neutral) && (options.fixed_shapes || is_one_element(m.spec("c")));
    return is_neutral ? same(m, m["x"]) : std::nullopt;
}
// x ^ 2 => x²; x ^ 3 => x² · x
Answer power_as_product(const Match& m, const PassOptions&) {
    if (!(m.spec("x") == m.result()) || !is_one_element(m.spec("c"))) return std::nullopt;
    if (is_all(m, 2)) return made<ops::Square>({}, {m["x"]});
    if (!is_all(m, 3)) return std::nullopt;
    return made<ops::Mul>({}, {made<ops::Square>({}, {m["x"]}), m["x"]});
}
// log(exp(a) + exp(b)) => logaddexp(a, b)
Answer log_of_sum(const Match& m, const PassOptions&) {
    bool fit = m.spec("a").dtype == m.result().dtype && m.spec("b").dtype == m.result().dtype;
    return fit ? Answer(made<ops::Logaddexp>({}, {m["a"], m["b"]})) : std::nullopt;
}

// Every value of `from` is exactly a value of `to`.
bool is_lossless(DType from, DType to) {
    if (from == to) return true;
    if (from == DType::boolean) return !is_narrow(to);
    if (is_float(from) && is_float(to)) return to == DType::f64 || (to == DType::f32 && from != DType::f64);
    return is_int(from) && is_int(to) && is_unsigned(from) == is_unsigned(to) && size_of(from) <= size_of(to);
}
// convert(convert(x; wider); d) => convert(x; d)
Answer join_conversions(const Match& m, const PassOptions&) {
    if (!is_lossless(m.spec("x").dtype, m.spec("wide").dtype)) return std::nullopt;
    if (auto x = same(m, m["x"])) return x;
    return made<ops::Convert>(m.root().as<ops::Convert::Params>(), {m["x"]});
}

bool is_plain_view(const Match&, const Node& node) { return node.op->traits.view && !node.op->traits.once; }
// reshape(x; own shape) => x; reshape(reshape(x)) => reshape(x); all views are written as reshape
Answer merge_views(const Match& m, const PassOptions& options) {
    if (!options.fixed_shapes) return std::nullopt;
    for (ValueId value : {m.root().inputs[0], m["x"]})
        if (auto x = same(m, value)) return x;
    if (m.root().op == &ops::Reshape::info && m["x"] == m.root().inputs[0]) return std::nullopt;
    return made<ops::Reshape>({.shape = dims_of(m.result().shape)}, {m["x"]});
}
// flatten(x; one axis) => x
Answer drop_flatten(const Match& m, const PassOptions&) {
    return m.spec("x").shape.rank() == m.result().shape.rank() ? same(m, m["x"]) : std::nullopt;
}
// reshape(view(x); shape) => reshape(x; shape), which only count elements. A view that is made once waits for
// other values.
Answer reshape_of_view(const Match& m, const PassOptions& options) {
    if (options.fixed_shapes) return std::nullopt;
    return made<ops::Reshape>(m.root().as<ops::Reshape::Params>(), {m["x"]});
}

// concat(x, empty, …) => x
Answer drop_empty(const Match& m, const PassOptions& options) {
    if (!options.fixed_shapes) return std::nullopt;
    for (ValueId value : m.root().inputs)
        if (auto x = same(m, value)) return x;
    return std::nullopt;
}

// transpose(x; identity) => x
bool is_identity(const IntList& pattern) {
    for (size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] != int64_t(i)) return false;
    return true;
}
Answer drop_transpose(const Match& m, const PassOptions&) {
    return is_identity(m.root().as<ops::Transpose::Params>().pattern) ? same(m, m["x"]) : std::nullopt;
}
// transpose(transpose(x; p); q) => transpose(x; p ∘ q)
Answer merge_transposes(const Match& m, const PassOptions&) {
    auto &outer = m.root().as<ops::Transpose::Params>().pattern,
         &first = m.params<ops::Transpose>("inner").pattern;
    if (is_identity(outer)) return std::nullopt;
    IntList both;
    for (int64_t axis : outer) {
        if (axis < 0 || size_t(axis) >= first.size() || first[size_t(axis)] < 0) return std::nullopt;
        both.push_back(first[size_t(axis)]);
    }
    if (is_identity(both)) return same(m, m["x"]);
    return made<ops::Transpose>({.pattern = both}, {m["x"]});
}

// f(x; own shape) => x, and broadcast_like(x, y) => broadcast_to(x; shape of y), so that y is not kept alive
Answer broadcast_to_shape(const Match& m, const PassOptions& options) {
    if (!options.fixed_shapes) return std::nullopt;
    if (auto x = same(m, m["x"])) return x;
    if (m.root().op == &ops::BroadcastTo::info) return std::nullopt;
    return made<ops::BroadcastTo>({.shape = dims_of(m.result().shape)}, {m["x"]});
}
// The same of reduce_to_shape(x, y).
Answer reduce_to_known_shape(const Match& m, const PassOptions& options) {
    if (!options.fixed_shapes) return std::nullopt;
    if (auto x = same(m, m["x"])) return x;
    auto& inputs = m.root().inputs;
    if (inputs.size() < 2 || inputs[1] == no_value) return std::nullopt;
    return made<ops::ReduceToShape>({.shape = dims_of(m.result().shape)}, {m["x"]});
}
// full_like(x; v) => full(; shape of x, v)
Answer fill_known_shape(const Match& m, const PassOptions& options) {
    if (!options.fixed_shapes) return std::nullopt;
    return made<ops::Full>({.shape = dims_of(m.result().shape),
                            .value = m.root().as<ops::FullLike::Params>().value,
                            .dtype = m.result().dtype},
                           {});
}

const match::Table<PassOptions>& simplifications() {
    const Pattern x = any("x"), c = match::constant("c");
    const Pattern viewed = match::one_of({shared(op<ops::Reshape>(x)), x});
    static const match::Table<PassOptions> table{
        {either_order<ops::Add>(x, c), drop_neutral<0>},
        {either_order<ops::Mul>(x, c), drop_neutral<1>},
        {op<ops::Sub>(x, c), drop_neutral<0>},
        {op<ops::Div>(x, c), drop_neutral<1>},
        {op<ops::Pow>(x, c), drop_neutral<1>},
        {op<ops::Pow>(x, c), power_as_product},
        // log(exp(x)) => x; -(-x) => x; copy(x) => x; convert(x; own dtype) => x
        {op<ops::Log>(shared(op<ops::Exp>(x))), same_as_x},
        {op<ops::Log>(shared(op<ops::Add>(op<ops::Exp>(any("a")), op<ops::Exp>(any("b"))))), log_of_sum},
        {op<ops::Neg>(shared(op<ops::Neg>(x))), same_as_x},
        {op<ops::Copy>(x), same_as_x},
        {op<ops::Convert>(x), same_as_x},
        {op<ops::Convert>(capture("wide", shared(op<ops::Convert>(x)))), join_conversions},
        {op<ops::AddAxis>(viewed), merge_views},
        {op<ops::Flatten>(viewed), merge_views},
        {op<ops::Flatten>(x), drop_flatten},
        {op<ops::RemoveAxis>(viewed), merge_views},
        {op<ops::Reshape>(viewed), merge_views},
        {op<ops::ReshapeLike>(viewed), merge_views},
        {op<ops::Reshape>(shared(node(is_plain_view, {x}))), reshape_of_view},
        {op<ops::Concat>(), drop_empty},
        {op<ops::Transpose>(x), drop_transpose},
        {op<ops::Transpose>(capture("inner", shared(op<ops::Transpose>(x)))), merge_transposes},
        {op<ops::BroadcastLike>(x), broadcast_to_shape},
        {op<ops::BroadcastTo>(x), broadcast_to_shape},
        {op<ops::ReduceToShape>(x), reduce_to_known_shape},
        {op<ops::FullLike>(), fill_known_shape},
    };
    return table;
}

bool is_settled(const Match& m) {
    auto known = [&](ValueId id) { return id == no_value || m.spec(id).shape.is_known(); };
    return m.root().outputs.size() == 1 && std::ranges::all_of(m.root().inputs, known) &&
           m.result().shape.is_known() && !is_unresolved(m.root());
}

}  // namespace

Graph simplify_algebra(Graph graph, const PassOptions& options) {
    graph = match::replace_matches(std::move(graph), simplifications(), options, is_settled,
                                   match::Against::target);
    return remove_dead_nodes(std::move(graph), options);
}

}  // namespace mge
