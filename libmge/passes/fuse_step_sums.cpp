// SPDX-License-Identifier: Apache-2.0
// A quantised convolution whose steps are only added to something is quantised inside of the sum's operator.
// The result has the bits of the two separate operators:
//
//     quantized_add(conv(x, w), r)                => conv(x, w, residual = r, inner_scale)
//     quantize(dequantize(conv(x, w)) + constant) => conv(x, w, shift = constant, inner_scale)
//
// The constant has one element per channel. The steps of rows of a matrix may be reshaped in between. If both
// operands of a sum are convolutions, the later one fuses the other's result.

#include "libmge/graph/match.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using Conv = ops::QuantizedConv2d;

// All values of a byte are allowed.
bool is_full(DType dtype, int64_t lower, int64_t upper) {
    auto range = ops::step_range(Conv::name, dtype, lower, upper), full = ops::full_range(dtype);
    return range.lower == full.lower && range.upper == full.upper;
}

// A convolution whose steps may become those of an inner scale.
bool is_open(const match::Match&, const Node& node) {
    auto& p = node.as<Conv::Params>();
    for (size_t i : {Conv::residual, Conv::inner_scale, Conv::shift})
        if (given_input(node, i) != no_value) return false;
    return given_input(node, Conv::y_scale) != no_value && p.activation == Activation::none &&
           ops::is_byte(p.dtype) && p.rounding == ops::StepRounding::half_even &&
           is_full(p.dtype, p.lower, p.upper);
}
match::Pattern open_convolution(std::string name) {
    return match::used_once(match::capture(std::move(name), match::op_if<Conv>(is_open)));
}

// The meaning of the convolution's steps is the given one.
bool has_meaning(const Graph& graph, const Node& conv, ValueId scale, ValueId zero) {
    return is_same_number(graph, given_input(conv, Conv::y_scale), scale) &&
           is_same_number(graph, given_input(conv, Conv::y_zero), zero);
}

// The steps of the sum.
struct SumSteps {
    Activation activation;
    DType dtype;
    int64_t lower, upper;
    ops::StepRounding rounding;
    ValueId scale, zero;
};

match::New with_inner_steps(const Node& conv, const SumSteps& y,
                            std::initializer_list<std::pair<std::string_view, match::New>> operands) {
    auto p = conv.as<Conv::Params>();
    p.inner_dtype = p.dtype;
    p.activation = y.activation;
    p.dtype = y.dtype;
    p.lower = y.lower;
    p.upper = y.upper;
    p.rounding = y.rounding;
    std::vector<match::New> inputs(conv.inputs.begin(), conv.inputs.end());
    inputs.resize(Conv::inputs.size(), no_value);
    inputs[Conv::inner_scale] = inputs[Conv::y_scale];
    inputs[Conv::inner_zero] = inputs[Conv::y_zero];
    inputs[Conv::y_scale] = y.scale;
    inputs[Conv::y_zero] = y.zero;
    for (auto& [name, input] : operands) inputs[*input_position(*conv.op, name)] = input;
    return {Conv::info, std::make_shared<const Conv::Params>(p), std::move(inputs), conv.name};
}

// quantized_add(conv, residual), the convolution being its first or second operand.
std::optional<match::New> with_steps(const match::Match& m, const FusionContext& context) {
    enum Input : size_t { a, b, a_scale, b_scale, y_scale, a_zero, b_zero, y_zero };
    if (context.options.switches.fuse_residual == false) return std::nullopt;
    const Node &sum = m.root(), &conv = m.node("conv");
    auto& p = sum.as<ops::QuantizedAdd::Params>();
    const bool is_first = sum.inputs[a] == m["conv"];
    auto of_conv = [&](size_t first, size_t second) { return given_input(sum, is_first ? first : second); };
    if (!has_meaning(m.graph(), conv, of_conv(a_scale, b_scale), of_conv(a_zero, b_zero)))
        return std::nullopt;
    if (!context.shapes.is_same_shape(m["conv"], m["residual"])) return std::nullopt;
    const SumSteps y{.activation = p.relu ? Activation::relu : Activation::none,
                     .dtype = p.dtype,
                     .lower = p.lower,
                     .upper = p.upper,
                     .rounding = p.rounding,
                     .scale = sum.inputs[y_scale],
                     .zero = given_input(sum, y_zero)};
    return with_inner_steps(conv, y,
                            {{"residual", m["residual"]},
                             {"residual_scale", of_conv(b_scale, a_scale)},
                             {"residual_zero", of_conv(b_zero, a_zero)}});
}
std::optional<match::New> with_earlier_steps(const match::Match& m, const FusionContext& context) {
    return m.computed_at("conv") > m.computed_at("residual") ? with_steps(m, context) : std::nullopt;
}

// The constant's elements, one per channel of the convolution; null if it varies along another axis. A
// reshape of the result must leave the channels as the last axis.
Tensor as_shift(const match::Match& m, const FusionContext& context) {
    const bool is_reshaped = m.has("reshaped");
    const ValueId y = m["conv"], real = is_reshaped ? m["reshaped"] : y;
    auto &from = m.spec(y).shape, &to = m.spec(real).shape;
    Tensor constant = m.constant("constant");
    if (!from.is_known() || !to.is_known() || to.rank() < 1 || constant.dtype() != DType::f32) return {};
    const int rank = to.rank(), axis = is_reshaped ? rank - 1 : 1;
    const int64_t channels = from[1];
    auto is_one = [&](int i) { return from[i] == 1 && context.shapes.is_fixed(y, i); };
    if (is_reshaped && !(is_one(2) && is_one(3))) return {};
    if (to[axis] != channels || !context.shapes.is_fixed(real, axis) || !context.shapes.is_fixed(y, 1))
        return {};
    auto& shape = constant.shape();
    if (shape.rank() > rank || constant.spec().numel() != channels) return {};
    for (int i = 0; i < shape.rank(); ++i)
        if (shape[i] != 1 && rank - shape.rank() + i != axis) return {};
    return constant.with_shape({channels});
}

std::optional<match::New> with_shift(const match::Match& m, const FusionContext& context) {
    if (context.options.switches.fuse_bias == false) return std::nullopt;
    const Node &quantize = m.root(), &dequantize = m.node("real"), &conv = m.node("conv");
    auto& p = quantize.as<ops::Quantize::Params>();
    auto is_number = [&](ValueId id) { return id == no_value || m.spec(id).numel() == 1; };
    const ValueId scale = quantize.inputs[1], zero = given_input(quantize, 2);
    if (!ops::is_byte(p.dtype) || !is_number(scale) || !is_number(zero)) return std::nullopt;
    if (!has_meaning(m.graph(), conv, dequantize.inputs[1], given_input(dequantize, 2))) return std::nullopt;
    // Broadcast to a constant of more axes the result would have another shape.
    if (!(m.spec("real").shape == m.result().shape)) return std::nullopt;
    Tensor shift = as_shift(m, context);
    if (!shift) return std::nullopt;
    const SumSteps y{.activation = Activation::none,
                     .dtype = p.dtype,
                     .lower = p.lower,
                     .upper = p.upper,
                     .rounding = p.rounding,
                     .scale = scale,
                     .zero = zero};
    match::New steps = with_inner_steps(conv, y, {{"shift", shift}});
    if (!m.has("reshaped")) return steps;
    const Node& reshape = m.node("reshaped");
    std::vector<match::New> operands(reshape.inputs.begin(), reshape.inputs.end());
    operands[0] = steps;
    return match::New{*reshape.op, reshape.params, std::move(operands), reshape.name};
}

match::Pattern shifted(match::Pattern steps) {
    auto real = match::used_once(match::capture("real", match::op<ops::Dequantize>(std::move(steps))));
    return match::op<ops::Quantize>(match::either_order<ops::Add>(real, match::constant("constant")));
}

}  // namespace

Graph fuse_step_sums(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&Conv::info})) return graph;
    auto sum = [](match::Pattern residual) {
        return match::node(nullptr, {open_convolution("conv"), std::move(residual)}, &ops::QuantizedAdd::info,
                           true);
    };
    static const match::Table<FusionContext> rules{
        {sum(match::shared(match::capture("residual", match::op<Conv>()))), with_earlier_steps},
        {sum(match::any("residual")), with_steps},
        {shifted(open_convolution("conv")), with_shift},
        {shifted(
             match::used_once(match::capture("reshaped", match::op<ops::Reshape>(open_convolution("conv"))))),
         with_shift}};
    const FusionContext context{options, {graph, options}};
    return match::replace_matches(std::move(graph), rules, context);
}

}  // namespace mge
