// SPDX-License-Identifier: Apache-2.0
// Formulas that exporters write out become the operator of that meaning, which other operators can fuse and
// which has its own kernels:
//
//     gelu        0.5 · x · (1 + erf(x / √2))
//     x · sigmoid 0.5 · x · (1 + tanh(√(2/π) (x + 0.044715 x³))), a GELU of fewer steps that way
//     silu        x · sigmoid(x)
//     hsigmoid    relu6(x + 3) / 6, or x / 6 + 0.5 between 0 and 1
//     hswish      x · hsigmoid(x)
//     softmax     exp(x − max x) / Σ exp(x − max x)
//     layer_norm  (x − mean x) / √(mean (x − mean x)² + ε), scaled and shifted
//
// Factors may be in any order, as quotients or products. Inner values must have no other readers: they would
// have to be computed anyway. Only for f32: each step of narrower floats rounds, which belongs to the meaning
// of their formulas.

#include <algorithm>
#include <numbers>

#include "libmge/device/device.h"
#include "libmge/graph/match.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using match::any, match::capture, match::either_order, match::made, match::Match, match::New, match::number,
    match::one_of, match::op, match::op_if, match::Pattern, match::product;

// GELU by tanh has √(2/π) (x + 0.044715 x³) for an argument.
constexpr double tanh_factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double cube_factor = 0.044715;

Pattern plus(double summand, Pattern p) { return either_order<ops::Add>(std::move(p), number(summand)); }

// Whether a bound may make a number of NaN.
enum class Nan { any, kept };

Pattern clipped(double lower, double upper, Pattern p, Nan nan) {
    auto has_bounds = [=](const Match&, const Node& node) {
        auto& bounds = node.as<ops::Clip::Params>();
        return bounds.lower == lower && bounds.upper == upper && (nan == Nan::any || bounds.keeps_nan);
    };
    return op_if<ops::Clip>(has_bounds, std::move(p));
}

// x · (1 + function) / 2
Pattern gated_half(Pattern function) { return product(0.5, {any("x"), plus(1, std::move(function))}); }

Pattern gelu() { return gated_half(op<ops::Erf>(product(1 / std::numbers::sqrt2, {any("x")}))); }

// √(2/π) · (x + 0.044715 x³) or √(2/π) · x · (1 + 0.044715 x²)
Pattern argument_of_tanh() {
    const Pattern x = any("x"), square = op<ops::Square>(x);
    auto cubes = one_of({product(cube_factor, {x, x, x}), product(cube_factor, {x, square})});
    auto squares = one_of({product(cube_factor, {x, x}), product(cube_factor, {square})});
    return one_of({product(tanh_factor, {either_order<ops::Add>(x, cubes)}),
                   product(tanh_factor, {x, plus(1, squares)})});
}

// relu6(x + 3), of which hsigmoid is a sixth.
Pattern ramp_to_6(Nan nan) {
    auto is_wanted = [=](const Match&, const Node& node) {
        return nan == Nan::any || node.as<ops::NanParams>().keeps_nan;
    };
    const Pattern sum = plus(3, any("x"));
    return one_of({op_if<ops::Relu6>(is_wanted, sum), clipped(0, 6, sum, nan)});
}
// x / 6 + 0.5 between 0 and 1.
Pattern ramp_to_1(Nan nan) { return clipped(0, 1, plus(0.5, product(1. / 6, {any("x")})), nan); }

Pattern softmax() {
    auto powers = op<ops::Exp>(op<ops::Sub>(any("x"), capture("largest", op<ops::Max>(any("x")))));
    return op<ops::Div>(capture("powers", powers), capture("total", op<ops::Sum>(any("powers"))));
}

// The difference from the mean, by the standard deviation or times its reciprocal.
Pattern difference() {
    return capture("difference", op<ops::Sub>(any("x"), capture("average", op<ops::Mean>(any("x")))));
}
Pattern deviation() {
    const Pattern d = any("difference");
    auto variance = op<ops::Mean>(one_of({op<ops::Square>(d), op<ops::Mul>(d, d)}));
    return op<ops::Sqrt>(either_order<ops::Add>(capture("variance", variance), number("epsilon")));
}
Pattern quotient() { return op<ops::Div>(difference(), deviation()); }
Pattern scaled_difference() { return either_order<ops::Mul>(difference(), op<ops::Reciprocal>(deviation())); }
Pattern layer_norm() {
    auto weighted = either_order<ops::Mul>(one_of({quotient(), scaled_difference()}), any("weight"));
    auto shifted = either_order<ops::Add>(one_of({weighted, scaled_difference()}), any("bias"));
    return one_of({shifted, weighted, quotient(), scaled_difference()});
}

// An operator with the name of the root's node. A formula widened by a constant with more axes is not such an
// operator.
template <class O>
std::optional<New> meaning(const Match& m, const typename O::Params& params = {},
                           std::vector<New> more = {}) {
    if (!(m.spec("x") == m.result())) return std::nullopt;
    more.insert(more.begin(), m["x"]);
    return made<O>(params, std::move(more)).named(m.root().name);
}
template <class O>
std::optional<New> as(const Match& m, const PassOptions&) {
    return meaning<O>(m);
}

// x · sigmoid(x (a + b x²)) in the place of x · (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
std::optional<New> as_gate(const Match& m, const PassOptions&) {
    auto constant = [](double value) -> New {
        const auto narrow = float(value);
        return tensor_from_host({DType::f32, {}, {}}, &narrow, host_device);
    };
    const New x = m["x"];
    New quadratic = made<ops::Mul>({}, {made<ops::Square>({}, {x}), constant(2 * tanh_factor * cube_factor)});
    New slope = made<ops::Add>({}, {quadratic, constant(2 * tanh_factor)});
    return meaning<ops::Mul>(m, {}, {made<ops::Sigmoid>({}, {made<ops::Mul>({}, {x, slope})})});
}

// The axes of a reduction that keeps them, in rising order; empty: it is another.
IntList kept_axes(const Match& m, std::string_view name) {
    auto& node = m.node(name);
    auto& params = node.as<ops::ReduceParams>();
    auto& shape = m.spec(node.inputs[0]).shape;
    if (!params.keepdims || !shape.is_known()) return {};
    auto reduced = ops::reduced_axes(node.op->name, params.axes, shape.rank());
    IntList axes;
    for (int i = 0; i < shape.rank(); ++i)
        if (reduced[size_t(i)]) axes.push_back(i);
    return axes;
}

std::optional<New> as_softmax(const Match& m, const PassOptions&) {
    auto axes = kept_axes(m, "total");
    if (axes.size() != 1 || axes != kept_axes(m, "largest")) return std::nullopt;
    return meaning<ops::Softmax>(m, {.axis = int(axes[0])});
}

// One element for each of those that are normalised together.
bool is_factor(const Match& m, std::string_view name, size_t axes) {
    if (!m.has(name)) return true;
    auto &x = m.spec("x"), &factor = m.spec(name);
    return factor.shape.is_known() && factor.shape.rank() == int(axes) &&
           factor.shape.rank() < x.shape.rank() && factor.dtype == x.dtype &&
           std::ranges::equal(factor.shape, x.shape.dims().last(axes));
}

std::optional<New> as_layer_norm(const Match& m, const PassOptions&) {
    auto axes = kept_axes(m, "average");
    bool are_trailing = !axes.empty() && axes[0] == m.spec("x").shape.rank() - int64_t(axes.size());
    if (!are_trailing || axes != kept_axes(m, "variance") || !is_factor(m, "weight", axes.size()) ||
        !is_factor(m, "bias", axes.size()))
        return std::nullopt;
    std::vector<New> factors;
    if (m.has("weight") || m.has("bias")) factors.push_back(m["weight"]);
    if (m.has("bias")) factors.push_back(m["bias"]);
    return meaning<ops::LayerNorm>(m, {.axes = int(axes.size()), .epsilon = m.number("epsilon")},
                                   std::move(factors));
}

const match::Table<PassOptions>& formulas() {
    const Pattern x = any("x");
    static const match::Table<PassOptions> table{
        {gelu(), as<ops::Gelu>},
        {gated_half(op<ops::Tanh>(argument_of_tanh())), as_gate},
        {product(1, {x, op<ops::Sigmoid>(x)}), as<ops::Silu>},
        {one_of({product(1. / 6, {x, ramp_to_6(Nan::any)}), product(1, {x, ramp_to_1(Nan::any)})}),
         as<ops::Hswish>},
        {one_of({product(1. / 6, {ramp_to_6(Nan::kept)}), product(1, {ramp_to_1(Nan::kept)}),
                 ramp_to_1(Nan::kept)}),
         as<ops::Hsigmoid>},
        {softmax(), as_softmax},
        {layer_norm(), as_layer_norm},
    };
    return table;
}

bool may_match(const Match& m) {
    auto known = [&](ValueId id) { return id != no_value && m.spec(id).shape.is_known(); };
    return m.root().outputs.size() == 1 && std::ranges::all_of(m.root().inputs, known) &&
           m.result().shape.is_known() && m.result().dtype == DType::f32;
}

}  // namespace

Graph recognise_formulas(Graph graph, const PassOptions& options) {
    return remove_dead_nodes(match::replace_matches(std::move(graph), formulas(), options, may_match),
                             options);
}

}  // namespace mge
