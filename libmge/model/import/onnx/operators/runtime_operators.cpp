// SPDX-License-Identifier: Apache-2.0
// The domain com.microsoft: operators written by ONNX Runtime's quantiser and optimizer.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

Tensor activated(const Site& site, const Tensor& x) {
    std::string name = site.attributes.word("activation", "");
    FloatList numbers = site.attributes.numbers("activation_params").value_or(FloatList());
    for (auto* letter : {"activation_alpha", "activation_beta"})
        if (site.attributes.has(letter)) numbers.push_back(site.attributes.number(letter, 0));
    auto parameter = [&](size_t i, double otherwise) { return i < numbers.size() ? numbers[i] : otherwise; };
    if (name.empty()) return x;
    if (name == "Relu") return rectified(x);
    if (name == "Sigmoid") return ops::sigmoid(x);
    if (name == "Tanh") return ops::tanh(x);
    if (name == "LeakyRelu") return ops::leaky_relu(x, {parameter(0, double(0.01F))});
    if (name == "HardSigmoid")
        return clipped(
            ops::add(ops::mul(x, number(x, parameter(0, double(0.2F)))), number(x, parameter(1, 0.5))), 0, 1);
    if (name == "Clip" && numbers.size() == 2) return clipped(x, numbers[0], numbers[1]);
    unsupported("the activation '", name, "'");
}

Tensor one_number(const Tensor& t, DType dtype) { return as_dtype(ops::reshape(t, {.shape = {1}}), dtype); }

Tensor zero_or_empty(const Site& site, size_t i) {
    return site.has(i) ? one_number(site.in(i), DType::i32) : Tensor();
}

// Null: it is not a product of steps with a constant matrix.
Tensor gemm_in_steps(const Site& site, bool transposes_b) {
    auto of_columns = [&](const Tensor& t) {
        return transposes_b && rank_of(t) == 1 && t.shape()[0] != 1 ? with_trailing_axes(t, 1) : t;
    };
    bool has_sums = !site.has(6) || (rank_of(site.in(6)) == 1 && site.in(6).dtype() == DType::i32);
    bool has_steps = site.has(7) && site.in(7).shape().is_known() && site.in(7).shape().numel() == 1;
    if (!has_steps || !has_sums) return {};
    StepProduct product{{site.in(0), site.in(1), site.optional(2)},
                        {site.in(3), of_columns(site.in(4)), site.optional(5)},
                        site.optional(6),
                        transposes_b};
    Tensor kind = site.has(8) ? site.in(8) : site.in(0);
    if (!is_byte(kind.dtype())) return {};
    return multiplied_steps(product, {kind, site.in(7), site.optional(8)});
}

// A fourth input is added to the sums.
Tensors import_fused_conv(const Site& site) {
    Tensor y = import_conv(site)[0];
    if (site.has(3)) y = ops::add(y, site.in(3));
    return {activated(site, y)};
}

Tensors import_fused_matmul(const Site& site) {
    // The batch may be the second axis of the matrices.
    auto operand = [&](size_t i, std::string_view attribute) {
        bool is_behind = site.attributes.integer(attribute, 0) && site.rank(i) > 2;
        return is_behind ? moved_axis(site.in(i), 0, site.rank(i) - 2) : site.in(i);
    };
    Tensor y = ops::matmul(operand(0, "transBatchA"), operand(1, "transBatchB"),
                           {.transpose_a = bool(site.attributes.integer("transA", 0)),
                            .transpose_b = bool(site.attributes.integer("transB", 0))});
    double alpha = site.attributes.number("alpha", 1);
    return {alpha == 1 ? y : Tensor(ops::mul(y, number(y, alpha)))};
}

Tensors import_fused_gemm(const Site& site) { return {activated(site, import_gemm(site)[0])}; }

Tensors import_bias_gelu(const Site& site) { return {ops::gelu(ops::add(site.in(0), site.in(1)))}; }

Tensors import_fast_gelu(const Site& site) {
    return {gelu_by_tanh(site.has(1) ? Tensor(ops::add(site.in(0), site.in(1))) : site.in(0))};
}

Tensors import_quick_gelu(const Site& site) {
    const Tensor& x = site.in(0);
    double alpha = site.attributes.number("alpha", double(1.702F));
    return {ops::mul(x, ops::sigmoid(ops::mul(x, number(x, alpha))))};
}

// The sum of both inputs and a bias, normalised over the last axis; the sum is the fourth output.
Tensors import_skip_layer_norm(const Site& site) {
    Tensor sum = ops::add(site.in(0), site.in(1));
    if (site.has(4)) sum = ops::add(sum, site.in(4));
    double epsilon = site.attributes.number("epsilon", double(1e-12F));
    Tensors found = ops::layer_norm(sum, site.in(2), site.optional(3), {.axes = 1, .epsilon = epsilon});
    for (size_t i = 1; i < 3; ++i) found[i] = ops::add_axis(found[i], {.axes = {-1}});
    return {found[0], found[1], found[2], sum};
}

// The same with the root of the mean square; its divisor is not available.
Tensors import_skip_rms_norm(const Site& site) {
    Tensor sum = ops::add(site.in(0), site.in(1));
    if (site.has(3)) sum = ops::add(sum, site.in(3));
    double epsilon = site.attributes.number("epsilon", double(1e-12F));
    Tensor y = by_root_mean_square(as_dtype(sum, DType::f32), rank_of(sum) - 1, epsilon);
    return {ops::mul(as_dtype(y, sum.dtype()), site.in(2)), Tensor(), Tensor(), sum};
}

// alpha a b + c, c being i32 in products of both scales.
Tensors import_quantised_gemm(const Site& site) {
    bool transposes_a = site.attributes.integer("transA", 0),
         transposes_b = site.attributes.integer("transB", 0);
    double alpha = site.attributes.number("alpha", 1);
    if (Tensor steps = transposes_a || alpha != 1 ? Tensor() : gemm_in_steps(site, transposes_b))
        return {steps};
    Tensor a = real_numbers(site, 0, 1, 2);
    Tensor b = as_dtype(site.in(3), DType::f32), scale = as_dtype(site.in(4), DType::f32);
    // One number for each column of the product.
    auto of_columns = [&](const Tensor& t) {
        return transposes_b && rank_of(t) == 1 ? with_trailing_axes(t, 1) : t;
    };
    if (site.has(5)) b = ops::sub(b, of_columns(as_dtype(site.in(5), DType::f32)));
    b = ops::mul(b, of_columns(scale));
    Tensor y = ops::matmul(a, b, {.transpose_a = transposes_a, .transpose_b = transposes_b});
    if (alpha != 1) y = ops::mul(y, number(y, alpha));
    if (site.has(6)) {
        Tensor step = ops::mul(as_dtype(site.in(1), DType::f32), scale);
        y = ops::add(y, ops::mul(as_dtype(site.in(6), DType::f32), step));
    }
    if (!site.has(7)) return {y};
    return {steps_of(y, as_dtype(site.in(7), DType::f32), site.optional(8),
                     site.has(8) ? site.in(8).dtype() : site.in(0).dtype())};
}

// Steps, scale and zero point of a, of b, and scale and zero point of the sum.
Tensors import_quantised_add(const Site& site) {
    const Tensor &a = site.in(0), &b = site.in(3);
    bool is_ours = is_byte(a.dtype()) && is_byte(b.dtype()) && have_one_shape(a, b);
    if (is_ours)
        return {ops::quantized_add({a, b, one_number(site.in(1), DType::f32),
                                    one_number(site.in(4), DType::f32), one_number(site.in(6), DType::f32),
                                    zero_or_empty(site, 2), zero_or_empty(site, 5), zero_or_empty(site, 7)},
                                   {.dtype = a.dtype(), .rounding = ops::StepRounding::half_even})};
    Tensor sum = ops::add(real_numbers(site, 0, 1, 2), real_numbers(site, 3, 4, 5));
    return {steps_of(sum, as_dtype(site.in(6), DType::f32), site.optional(7), a.dtype())};
}

Tensors import_quantised_mul(const Site& site) {
    Tensor product = ops::mul(real_numbers(site, 0, 1, 2), real_numbers(site, 3, 4, 5));
    return {steps_of(product, as_dtype(site.in(6), DType::f32), site.optional(7), site.in(0).dtype())};
}

Tensors import_quantised_sigmoid(const Site& site) {
    return {steps_of_one(site, ops::sigmoid(real_of_one(site)))};
}

Tensors import_quantised_leaky_relu(const Site& site) {
    double slope = site.attributes.number("alpha", double(0.01F));
    return {steps_of_one(site, ops::leaky_relu(real_of_one(site), {slope}))};
}

// Scale and zero point of the result, then steps, scale and zero point of each part.
Tensors import_quantised_concat(const Site& site) {
    if (site.size() < 5 || site.size() % 3 != 2)
        invalid("it has ", counted(site.size(), "input"), ", expected 2 and 3 more for each part");
    Tensors parts;
    for (size_t i = 2; i < site.size(); i += 3) parts.push_back(real_numbers(site, i, i + 1, i + 2));
    int axis = site.axis(site.attributes.integer("axis", 0), site.rank(2));
    Tensor y = parts.size() == 1 ? parts[0] : Tensor(ops::concat(TensorList(parts), {.axis = axis}));
    return {steps_of(y, as_dtype(site.in(0), DType::f32), site.optional(1), site.in(2).dtype())};
}

Tensors import_quantised_average(const Site& site) {
    if (site.attributes.integer("channels_last", 0)) unsupported("channels_last=1");
    Tensor x = real_of_one(site);
    IntList axes;
    for (int i = 2; i < site.rank(0); ++i) axes.push_back(i);
    Tensor mean = ops::mean(x, {.axes = axes, .keepdims = true});
    return {steps_of_one(site, mean)};
}

}  // namespace

Tensor real_numbers(const Site& site, size_t steps, size_t scale, size_t zero) {
    Tensor x = as_dtype(site.in(steps), DType::f32);
    if (site.has(zero)) x = ops::sub(x, as_dtype(site.in(zero), DType::f32));
    return ops::mul(x, as_dtype(site.in(scale), DType::f32));
}

Tensor real_of_one(const Site& site) { return real_numbers(site, 0, 1, 2); }

Tensor steps_of_one(const Site& site, const Tensor& y) {
    return steps_of(y, as_dtype(site.in(3), DType::f32), site.optional(4), site.in(0).dtype());
}

ImportRows runtime_operators_rows() {
    static constexpr ImportRow rows[] = {
        {"com.microsoft.BiasGelu", import_bias_gelu, 1, newest_opset},
        {"com.microsoft.FastGelu", import_fast_gelu, 1, newest_opset},
        {"com.microsoft.FusedConv", import_fused_conv, 1, newest_opset},
        {"com.microsoft.FusedGemm", import_fused_gemm, 1, newest_opset},
        {"com.microsoft.FusedMatMul", import_fused_matmul, 1, newest_opset},
        {"com.microsoft.QGemm", import_quantised_gemm, 1, newest_opset},
        {"com.microsoft.QLinearAdd", import_quantised_add, 1, newest_opset},
        {"com.microsoft.QLinearConcat", import_quantised_concat, 1, newest_opset},
        {"com.microsoft.QLinearGlobalAveragePool", import_quantised_average, 1, newest_opset},
        {"com.microsoft.QLinearLeakyRelu", import_quantised_leaky_relu, 1, newest_opset},
        {"com.microsoft.QLinearMul", import_quantised_mul, 1, newest_opset},
        {"com.microsoft.QLinearSigmoid", import_quantised_sigmoid, 1, newest_opset},
        {"com.microsoft.QuickGelu", import_quick_gelu, 1, newest_opset},
        {"com.microsoft.SkipLayerNormalization", import_skip_layer_norm, 1, newest_opset},
        {"com.microsoft.SkipSimplifiedLayerNormalization", import_skip_rms_norm, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
