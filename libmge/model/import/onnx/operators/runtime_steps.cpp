// SPDX-License-Identifier: Apache-2.0
// The domain com.microsoft: operators on quantised steps that its quantiser writes. They are computed as
// operators on the real numbers of the steps.

#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// With one scale for each column of a matrix, or one in total.
Tensor real_matrix(const Tensor& steps, const Tensor& scale, const Tensor& zero) {
    Tensor x = as_dtype(steps, DType::f32);
    if (zero) x = ops::sub(x, as_dtype(zero, DType::f32));
    return ops::mul(x, as_dtype(scale, DType::f32));
}

Tensor with_bias(const Tensor& y, const Tensor& bias) { return bias ? ops::add(y, bias) : y; }

// Weights of both directions, (directions, inputs, rows), as in LSTM; one scale for each direction, or for
// each of its rows.
Tensor real_recurrence(const Site& site, size_t steps, size_t scale) {
    auto spread = [&](const Tensor& t) {
        return rank_of(t) == 1 ? with_trailing_axes(t, 2) : Tensor(ops::add_axis(t, {.axes = {1}}));
    };
    Tensor zero = site.has(scale + 1) ? spread(site.in(scale + 1)) : Tensor();
    return moved_axis(real_matrix(site.in(steps), spread(site.in(scale)), zero), 2, 1);
}

Tensors import_quantised_average_pool(const Site& site) {
    if (site.attributes.integer("channels_last", 0)) unsupported("channels_last=1");
    Tensors x{real_of_one(site)};
    return {steps_of_one(site, import_average_pool(site.with(x))[0])};
}

// The version of the operator set determines which axes are joined.
Tensors import_quantised_softmax(const Site& site) {
    Tensors x{real_of_one(site)};
    int64_t opset = site.attributes.integer("opset", 13);
    Tensors y = import_softmax(site.with(x, opset < 13 ? 1 : 13));
    return {steps_of_one(site, y[0])};
}

Tensors import_quantised_mean(const Site& site) {
    Tensor x = real_of_one(site);
    IntList axes = site.attributes.integers("axes").value_or(all_axes(rank_of(x)));
    for (int64_t& axis : axes) axis = site.axis(axis, rank_of(x));
    bool keeps = site.attributes.integer("keepdims", 1);
    return {steps_of_one(site, ops::mean(x, {.axes = axes, .keepdims = keeps}))};
}

// A condition, both operands with their scales and zero points, and those of the result.
Tensors import_quantised_where(const Site& site) {
    Tensor y = ops::where(site.in(0), real_numbers(site, 1, 2, 3), real_numbers(site, 4, 5, 6));
    return {steps_of(y, as_dtype(site.in(7), DType::f32), site.optional(8), site.in(1).dtype())};
}

// Steps of a and b, their scales, zero points, a bias.
Tensors import_product_of_integers(const Site& site) {
    Tensor a = real_matrix(site.in(0), site.in(2), site.optional(4));
    Tensor b = real_matrix(site.in(1), site.in(3), site.optional(5));
    return {with_bias(ops::matmul(a, b), site.optional(6))};
}

// The steps of a are determined in each run.
Tensors import_product_with_integers(const Site& site) {
    Tensors a{site.in(0)};
    Tensors steps = import_dynamic_quantize_linear(site.with(a));
    Tensor b = real_matrix(site.in(1), site.in(2), site.optional(3));
    return {with_bias(ops::matmul(real_matrix(steps[0], steps[1], steps[2]), b), site.optional(4))};
}

// Its products are those of real numbers: x and the state are not quantised.
Tensors import_quantised_lstm(const Site& site) {
    Tensors inputs;
    for (size_t i = 0; i < 8; ++i) inputs.push_back(site.optional(i));
    inputs[1] = real_recurrence(site, 1, 8);
    inputs[2] = real_recurrence(site, 2, 10);
    return import_lstm(site.with(inputs));
}

// Words, weights, their bias, both scales, a mask, both zero points, the past.
Tensors import_quantised_attention(const Site& site) {
    Tensors inputs{real_matrix(site.in(0), site.in(3), site.optional(6)),
                   real_matrix(site.in(1), site.in(4), site.optional(7)), site.in(2), site.optional(5),
                   site.optional(8)};
    return import_runtime_attention(site.with(inputs));
}

// Each table and the normalisation are quantised; the scales follow, then the zero points.
Tensors import_quantised_embed_layer_norm(const Site& site) {
    Tensors inputs{site.in(0), site.optional(1)};
    for (size_t i = 2; i < 7; ++i)
        inputs.push_back(site.has(i) ? real_matrix(site.in(i), site.in(i + 6), site.optional(i + 11))
                                     : Tensor());
    inputs.push_back(site.optional(7));
    return import_embed_layer_norm(site.with(inputs));
}

}  // namespace

ImportRows runtime_steps_rows() {
    static constexpr ImportRow rows[] = {
        {"com.microsoft.DynamicQuantizeLSTM", import_quantised_lstm, 1, newest_opset},
        {"com.microsoft.DynamicQuantizeMatMul", import_product_with_integers, 1, newest_opset},
        {"com.microsoft.MatMulIntegerToFloat", import_product_of_integers, 1, newest_opset},
        {"com.microsoft.QAttention", import_quantised_attention, 1, newest_opset},
        {"com.microsoft.QEmbedLayerNormalization", import_quantised_embed_layer_norm, 1, newest_opset},
        {"com.microsoft.QLinearAveragePool", import_quantised_average_pool, 1, newest_opset},
        {"com.microsoft.QLinearReduceMean", import_quantised_mean, 1, newest_opset},
        {"com.microsoft.QLinearSoftmax", import_quantised_softmax, 1, newest_opset},
        {"com.microsoft.QLinearWhere", import_quantised_where, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
