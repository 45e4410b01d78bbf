// SPDX-License-Identifier: Apache-2.0
// Elementwise operators.

#include "libmge/ops/elementwise/clip.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/operators/many_axes.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/convert/convert_narrow.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::onnx {
namespace {

double scalar_in(const Tensor& constant) {
    if (constant.spec().numel() != 1)
        invalid("a bound has shape ", constant.shape(), ", expected one number");
    double value = 0;
    if (!is_among(constant.dtype(), DTypes::numbers) || constant.dtype() == DType::boolean)
        invalid("a bound has dtype ", constant.dtype(), ", expected a number");
    dispatch_dtype(constant.dtype(), NumberTypes{},
                   [&]<class T>(std::type_identity<T>) { value = double(*constant.data<T>()); });
    return value;
}

// Rounded towards zero; an integer divided by 0 is unchanged.
Tensor truncated_quotient(const Tensor& a, const Tensor& b) {
    Tensor quotient = ops::floor_div(a, b);
    if (is_unsigned(a.dtype())) return quotient;
    Tensor rest = ops::sub(a, ops::mul(quotient, b)), zero = number(a, 0);
    Tensor known = find_value(rest);
    if (known && std::ranges::all_of(numbers_in(known), [](int64_t n) { return n == 0; })) return quotient;
    Tensor is_below =
        ops::logical_and(ops::not_equal(rest, zero), ops::not_equal(ops::less(a, zero), ops::less(b, zero)));
    return ops::add(quotient, as_dtype(is_below, a.dtype()));
}

// Before version 7 an attribute gives the position of the second operand's axes.
Tensor old_operand(const Site& site) {
    auto axis = site.attributes.has("axis") ? site.attributes.integer("axis", 0) : -1;
    site.attributes.integers("consumed_inputs");
    if (!site.attributes.integer("broadcast", 0) || axis < 0) return site.in(1);
    return with_trailing_axes(site.in(1), site.rank(0) - site.axis(axis, site.rank(0)) - site.rank(1));
}
Tensor second(const Site& site) { return site.opset < 7 ? old_operand(site) : site.in(1); }

// Our remainder of floats has the sign of the dividend, that of integers the sign of the divisor.
Tensor remainder(const Tensor& a, const Tensor& b, bool is_fmod) {
    Tensor rest = ops::mod(a, b), zero = number(a, 0);
    if (is_float(a.dtype()) == is_fmod || is_unsigned(a.dtype())) return rest;
    Tensor other = is_fmod ? a : b;
    Tensor is_other = ops::logical_and(ops::not_equal(rest, zero),
                                       ops::not_equal(ops::less(rest, zero), ops::less(other, zero)));
    Tensor moved = is_fmod ? ops::sub(rest, b) : ops::add(rest, b);
    return ops::where(is_other, moved, rest);
}

// alpha (e^(x / scale) - 1) below zero.
Tensor exponential_unit(const Tensor& x, double alpha, double scale) {
    Tensor below = ops::minimum(x, number(x, 0));
    if (scale != 1) below = ops::div(below, number(x, scale));
    return ops::where(ops::less(x, number(x, 0)), ops::mul(ops::expm1(below), number(x, alpha)), x);
}

// For any number of operands.
template <class F>
Tensor folded(const Site& site, F f) {
    site.attributes.integers("consumed_inputs");
    Tensor result = site.in(0);
    for (size_t i = 1; i < site.size(); ++i) result = f(result, site.in(i));
    return result;
}

// True if the value is fixed and contains no NaN.
bool holds_numbers(const Tensor& t) {
    if (!is_float(t.dtype())) return true;
    Tensor known = find_value(t);
    bool holds = known && known.spec().numel() <= known_value_limit;
    if (holds)
        dispatch_dtype(known.dtype(), NumberTypes{}, [&]<class T>(std::type_identity<T>) {
            holds = std::ranges::none_of(std::span(known.data<T>(), size_t(known.spec().numel())),
                                         [](T n) { return std::isnan(double(ComputedAs<T>(n))); });
        });
    return holds;
}

// Ours gives its second operand where either is NaN.
template <const auto& extreme>
Tensor extreme_with_nan(const Tensor& a, const Tensor& b) {
    if (holds_numbers(a)) return extreme(a, b);
    if (holds_numbers(b)) return extreme(b, a);
    return ops::where(ops::isnan(a), a, extreme(a, b));
}

Tensors import_div(const Site& site) {
    Tensor a = site.in(0), b = second(site);
    return {is_float(a.dtype()) ? ops::div(a, b) : truncated_quotient(a, b)};
}
Tensors import_add(const Site& site) { return {ops::add(site.in(0), second(site))}; }
Tensors import_sub(const Site& site) { return {ops::sub(site.in(0), second(site))}; }
Tensors import_mul(const Site& site) { return {ops::mul(site.in(0), second(site))}; }
Tensors import_and(const Site& site) { return {ops::logical_and(site.in(0), second(site))}; }
Tensors import_or(const Site& site) { return {ops::logical_or(site.in(0), second(site))}; }
Tensors import_xor(const Site& site) { return {ops::logical_xor(site.in(0), second(site))}; }
Tensors import_equal(const Site& site) { return {ops::equal(site.in(0), second(site))}; }
Tensors import_less(const Site& site) { return {ops::less(site.in(0), second(site))}; }
Tensors import_greater(const Site& site) { return {ops::greater(site.in(0), second(site))}; }

Tensors import_mod(const Site& site) {
    bool is_fmod = site.attributes.integer("fmod", 0);
    return {remainder(site.in(0), site.in(1), is_fmod)};
}

// The result has the dtype of the base.
Tensors import_pow(const Site& site) {
    Tensor x = site.in(0), exponent = second(site);
    if (is_float(x.dtype())) return {ops::pow(x, as_dtype(exponent, x.dtype()))};
    if (!is_float(exponent.dtype())) return {integer_power(x, exponent)};
    return {as_dtype(ops::pow(as_dtype(x, DType::f64), as_dtype(exponent, DType::f64)), x.dtype())};
}

Tensors import_relu(const Site& site) {
    site.attributes.integers("consumed_inputs");
    return {rectified(site.in(0))};
}
Tensors import_sign(const Site& site) {
    const Tensor& x = site.in(0);
    return {is_float(x.dtype()) ? ops::where(ops::isnan(x), x, ops::sign(x)) : ops::sign(x)};
}
Tensors import_max(const Site& site) { return {folded(site, larger)}; }
Tensors import_min(const Site& site) { return {folded(site, smaller)}; }
Tensors import_sum(const Site& site) { return {folded(site, ops::add)}; }
Tensors import_mean(const Site& site) {
    Tensor sum = folded(site, ops::add);
    return {ops::div(sum, number(sum, double(site.size())))};
}

Tensors import_clip(const Site& site) {
    Tensor x = site.in(0);
    if (site.opset < 11) {
        site.attributes.integers("consumed_inputs");
        double infinity = std::numeric_limits<double>::infinity();
        return {
            clipped(x, site.attributes.number("min", -infinity), site.attributes.number("max", infinity))};
    }
    auto bound = [&](size_t i) { return site.has(i) ? as_scalar(site.in(i)) : Tensor(); };
    Tensor low = bound(1), high = bound(2);
    Tensor low_value = low ? find_value(low) : Tensor();
    Tensor high_value = high ? find_value(high) : Tensor();
    bool is_constant = is_float(x.dtype()) && (!low || low_value) && (!high || high_value);
    if (is_constant) {
        ops::Clip::Params bounds;
        if (low) bounds.lower = scalar_in(low_value);
        if (high) bounds.upper = scalar_in(high_value);
        if (bounds.lower <= bounds.upper) return {clipped(x, bounds.lower, bounds.upper)};
    }
    if (low) x = larger(x, low);
    return {high ? smaller(x, high) : low ? x : ops::copy(x)};
}

Tensors import_cast(const Site& site) {
    auto& texts = site.importer.texts();
    bool to_text = site.attributes.integer("to", 0) == file::TensorProto::STRING;
    if (to_text && texts.has(site.in(0))) return {site.in(0)};
    if (to_text || texts.has(site.in(0))) unsupported("a conversion between numbers and text");
    return {as_cast(site, site.in(0), target_dtype(site))};
}
Tensors import_cast_like(const Site& site) { return {as_cast(site, site.in(0), site.in(1).dtype())}; }

Tensors import_where(const Site& site) { return {ops::where(site.in(0), site.in(1), site.in(2))}; }

Tensors import_is_inf(const Site& site) {
    bool above = site.attributes.integer("detect_positive", 1);
    bool below = site.attributes.integer("detect_negative", 1);
    const Tensor& x = site.in(0);
    Tensor is_infinite = ops::isinf(x);
    if (above && below) return {is_infinite};
    if (!above && !below) return {ops::logical_and(is_infinite, ops::logical_not(is_infinite))};
    Tensor has_sign = above ? ops::greater(x, number(x, 0)) : ops::less(x, number(x, 0));
    return {ops::logical_and(is_infinite, has_sign)};
}

Tensors import_leaky_relu(const Site& site) {
    site.attributes.integers("consumed_inputs");
    return {ops::leaky_relu(site.in(0), {site.attributes.number("alpha", double(0.01F))})};
}
// Before version 7 a slope per channel has no axes after it; since then broadcasting aligns from the right.
Tensors import_prelu(const Site& site) {
    Tensor slope = site.in(1);
    site.attributes.integers("consumed_inputs");
    if (site.opset < 7 && site.rank(1) == 1) slope = with_trailing_axes(slope, std::max(0, site.rank(0) - 2));
    return {ops::prelu(site.in(0), slope)};
}
Tensors import_elu(const Site& site) {
    site.attributes.integers("consumed_inputs");
    return {exponential_unit(site.in(0), site.attributes.number("alpha", 1), 1)};
}
Tensors import_celu(const Site& site) {
    double alpha = site.attributes.number("alpha", 1);
    return {exponential_unit(site.in(0), alpha, alpha)};
}
Tensors import_selu(const Site& site) {
    site.attributes.integers("consumed_inputs");
    double alpha = site.attributes.number("alpha", site.opset < 6 ? 1.6732 : 1.67326319217681884765625);
    double gamma = site.attributes.number("gamma", site.opset < 6 ? 1.0507 : 1.05070102214813232421875);
    Tensor y = exponential_unit(site.in(0), alpha, 1);
    return {ops::mul(y, number(y, gamma))};
}
Tensors import_hard_sigmoid(const Site& site) {
    site.attributes.integers("consumed_inputs");
    const Tensor& x = site.in(0);
    double alpha = site.attributes.number("alpha", double(0.2F)), beta = site.attributes.number("beta", 0.5);
    Tensor line = ops::add(ops::mul(x, number(x, alpha)), number(x, beta));
    return {clipped(line, 0, 1)};
}
Tensors import_thresholded_relu(const Site& site) {
    const Tensor& x = site.in(0);
    double alpha = site.attributes.number("alpha", 1);
    return {ops::where(ops::greater(x, number(x, alpha)), x, number(x, 0))};
}
Tensors import_shrink(const Site& site) {
    // For integers, bounds and bias are real numbers, too.
    DType dtype = site.in(0).dtype();
    Tensor x = is_float(dtype) ? site.in(0) : as_dtype(site.in(0), DType::f64);
    double bias = site.attributes.number("bias", 0), lambda = site.attributes.number("lambd", 0.5);
    Tensor below = ops::where(ops::less(x, number(x, -lambda)), ops::add(x, number(x, bias)), number(x, 0));
    Tensor y = ops::where(ops::greater(x, number(x, lambda)), ops::sub(x, number(x, bias)), below);
    return {as_dtype(y, dtype)};
}
Tensors import_softsign(const Site& site) {
    const Tensor& x = site.in(0);
    return {ops::div(x, ops::add(ops::abs(x), number(x, 1)))};
}
Tensors import_mish(const Site& site) { return {ops::mul(site.in(0), ops::tanh(ops::softplus(site.in(0))))}; }
Tensors import_swish(const Site& site) {
    const Tensor& x = site.in(0);
    double alpha = site.attributes.number("alpha", 1);
    return {alpha == 1 ? ops::silu(x) : ops::mul(x, ops::sigmoid(ops::mul(x, number(x, alpha))))};
}
Tensors import_swiglu(const Site& site) { return {ops::mul(import_swish(site)[0], site.in(1))}; }
// Not a standard operator: tf2onnx keeps TensorFlow's for gelu.
Tensors import_erfc(const Site& site) {
    const Tensor& x = site.in(0);
    return {ops::sub(number(x, 1), ops::erf(x))};
}

Tensors import_gelu(const Site& site) {
    std::string how = site.attributes.word("approximate", "none");
    if (how != "none" && how != "tanh") unsupported("the approximation '", how, "'");
    return {how == "tanh" ? gelu_by_tanh(site.in(0)) : ops::gelu(site.in(0))};
}

Tensors import_identity(const Site& site) { return {site.in(0)}; }

// Also for tensors with more axes than ours.
template <ImportFunction f>
Tensors along_any_axes(const Site& site) {
    Tensor combined = combined_axes(site, f);
    return combined ? Tensors{combined} : f(site);
}

}  // namespace

Tensor rectified(const Tensor& x) { return ops::relu(x, {.keeps_nan = true}); }

// Activations keep their names: passes let convolutions compute them.
Tensor clipped(const Tensor& x, double lower, double upper) {
    if (lower == 0 && upper == 6) return ops::relu6(x, {.keeps_nan = true});
    return ops::clip(x, {.lower = lower, .upper = upper, .keeps_nan = true});
}

Tensor larger(const Tensor& a, const Tensor& b) { return extreme_with_nan<ops::maximum>(a, b); }

Tensor smaller(const Tensor& a, const Tensor& b) { return extreme_with_nan<ops::minimum>(a, b); }

// 1.5957 x (1 + 0.044715 x^2), whose logistic function is half of one plus a hyperbolic tangent.
Tensor gelu_by_tanh(const Tensor& x) {
    Tensor inner = ops::add(ops::mul(ops::square(x), number(x, 0.044715)), number(x, 1));
    return ops::mul(
        x, ops::sigmoid(ops::mul(ops::mul(x, inner), number(x, 2 * std::sqrt(2 / std::numbers::pi)))));
}

DType target_dtype(const Site& site) {
    auto to = int(site.attributes.integer("to", 0));
    auto dtype = dtype_of(to);
    if (!dtype) unsupported("a conversion to ", name_of_data_type(to));
    return *dtype;
}

Tensor as_cast(const Site& site, const Tensor& x, DType dtype) {
    bool saturates = site.attributes.integer("saturate", 1);
    std::string rounding = site.attributes.word("round_mode", "up");
    if (rounding != "up" && rounding != "down" && rounding != "nearest")
        invalid("its rounding mode is '", rounding, "', expected up, down or nearest");
    bool is_plain = saturates && (rounding == "up" || dtype != DType::e8m0);
    if (!is_narrow(dtype) || is_narrow_int(dtype) || is_plain) return ops::convert(x, {.dtype = dtype});
    ops::ConvertNarrow::Params p{.dtype = dtype};
    if (!saturates) p.overflow = Overflow::escapes;
    if (rounding != "up") p.rounding = rounding == "down" ? PowerRounding::down : PowerRounding::nearest;
    return ops::convert_narrow(is_float(x.dtype()) ? x : as_dtype(x, DType::f32), p);
}

ImportRows elementwise_rows() {
    static constexpr ImportRow rows[] = {
        {"Add", along_any_axes<import_add>, oldest_opset, newest_opset, Takes::many_axes},
        {"And", import_and},
        {"Cast", import_cast},
        {"CastLike", import_cast_like, 15},
        {"Celu", import_celu, 12},
        {"Clip", import_clip},
        {"Div", import_div},
        {"Elu", import_elu},
        {"Equal", import_equal},
        {"Erfc", import_erfc, 9},
        {"Gelu", import_gelu, 20},
        {"Greater", import_greater},
        {"HardSigmoid", import_hard_sigmoid},
        {"Identity", import_identity, oldest_opset, newest_opset, Takes::sequences},
        {"IsInf", import_is_inf, 10},
        {"LeakyRelu", import_leaky_relu},
        {"Less", import_less},
        {"Max", import_max},
        {"Mean", import_mean},
        {"Min", import_min},
        {"Mish", import_mish, 18},
        {"Mod", import_mod, 10},
        {"Mul", along_any_axes<import_mul>, oldest_opset, newest_opset, Takes::many_axes},
        {"Or", import_or},
        {"PRelu", import_prelu},
        {"Pow", import_pow},
        {"Relu", import_relu},
        {"Selu", import_selu},
        {"Shrink", import_shrink, 9},
        {"Sign", import_sign, 9},
        {"Softsign", import_softsign},
        {"Sub", along_any_axes<import_sub>, oldest_opset, newest_opset, Takes::many_axes},
        {"Sum", import_sum},
        {"SwiGLU", import_swiglu, 28},
        {"Swish", import_swish, 24},
        {"ThresholdedRelu", import_thresholded_relu, 10},
        {"Where", import_where, 9},
        {"Xor", import_xor},
    };
    return rows;
}

}  // namespace mge::onnx
