// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/attention/attention.h"

#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/geometry.h"
#include "libmge/ops/nn/attention/gradient.h"
#include "libmge/ops/nn/check_shape.h"
#include "libmge/ops/nn/null_is_zero.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

namespace {

// Products of so many columns for each pair of a query and a key it sees; the softmax takes five operations.
double products_and_softmax(const AttentionShape& s, double columns) {
    double pairs = double(s.batch) * double(s.heads) * double(s.queries) * double(s.keys);
    return pairs * (2 * columns + 5);
}

// A mask that has no batch belongs to all items.
BatchIndependence independent_but_for(size_t mask, Specs in) {
    bool is_shared = !is_given(in, mask) || in[mask].shape.rank() < 4 || in[mask].shape[0] != in[0].shape[0];
    return {.shared_inputs = is_shared ? 1U << mask : 0};
}

Tensor product(const Tensor& a, const Tensor& b, const Matmul::Params& p = {}) {
    return a && b ? Tensor(matmul(a, b, p)) : Tensor();
}

// The gradients of dq, dk and dv, in the form of parts.q, parts.k and parts.v; null: absent.
struct OutputGrads {
    Tensor q, k, v;
};
struct BackwardGrads {
    Tensor q, k, v, dy, y, scores, rest;  // rest: of D
};

// With dq = scale dS k, dk = scale dSᵀ q and dv = Pᵀ dy:
BackwardGrads gradient_of(const AttentionParts& x, const OutputGrads& g) {
    Tensor of_ds = scaled(
        plus(product(g.q, x.k, {.transpose_b = true}), product(x.q, g.k, {.transpose_b = true})), x.scale);
    Tensor of_dp = times(of_ds, x.weights);
    Tensor of_p = plus(product(x.dy, g.v, {.transpose_b = true}), times(of_ds, x.of_scores_without));
    BackwardGrads result;
    result.scores = times(of_p, x.weights);
    Tensor ds = gradient_of_scores(x);
    if (of_dp) result.rest = neg(sum(of_dp, {.axes = {-1}, .keepdims = true}));
    result.dy = plus(plus(product(x.weights, g.v), product(of_dp, x.v)), times(result.rest, x.y));
    result.y = times(result.rest, x.dy);
    result.v = product(of_dp, x.dy, {.transpose_a = true});
    result.q = scaled(plus(product(result.scores, x.k), product(ds, g.k)), x.scale);
    result.k = scaled(
        plus(product(result.scores, x.q, {.transpose_a = true}), product(ds, g.q, {.transpose_a = true})),
        x.scale);
    return result;
}

}  // namespace

TensorSpecs Attention::infer(const Params& p, Specs in) {
    auto [y, log_sum_exp] = attention_results(name, p, in, 3);
    return {{in[0].dtype, y, {}}, {DType::f32, log_sum_exp, {}}};
}

Tensors Attention::gradient(const GradientContext<Params>& g) {
    const Tensor &q = g.input("q"), &k = g.input("k"), &v = g.input("v"), &mask = g.input("mask");
    const Tensor &y = g.output(0), &log_sum_exp = g.output(1), &of_log = g.output_grad(1);
    Tensor dy = g.output_grad() ? g.output_grad() : full_like(y, {.value = 0});
    Tensor dmask;
    if (mask && g.needs("mask")) {
        AttentionOperands operands{q, k, v, dy, y, log_sum_exp, mask, of_log};
        dmask = in_form_of_mask(gradient_of_scores(attention_parts(g.params, operands)), mask);
    }
    Tensors grads = attention_backward({q, k, v, dy, y, log_sum_exp, mask, of_log}, g.params);
    return g.result({{"q", grads[0]}, {"k", grads[1]}, {"v", grads[2]}, {"mask", dmask}});
}

std::optional<double> Attention::operations(const Params& p, Specs in, Specs) {
    AttentionShape s = attention_shape(name, p, in, 3);
    return products_and_softmax(s, double(s.width) + double(s.value_width));
}

std::optional<BatchIndependence> Attention::batch_independence(const Params&, Specs in, Specs) {
    return independent_but_for(3, in);
}

TensorSpecs AttentionBackward::infer(const Params& p, Specs in) {
    auto [result, rows] = attention_results(name, p, in, 6);
    check_shape(name, "dy", in[3], result);
    check_shape(name, "y", in[4], result);
    check_shape(name, "log_sum_exp", in[5], rows);
    if (in.size() > 7) check_shape(name, "dlog_sum_exp", in[7], rows);
    return {{in[0].dtype, in[0].shape, {}}, {in[0].dtype, in[1].shape, {}}, {in[0].dtype, in[2].shape, {}}};
}

Tensors AttentionBackward::gradient(const GradientContext<Params>& g) {
    AttentionOperands x{g.input("q"), g.input("k"),           g.input("v"),    g.input("dy"),
                        g.input("y"), g.input("log_sum_exp"), g.input("mask"), g.input("dlog_sum_exp")};
    AttentionParts parts = attention_parts(g.params, x);
    int64_t times = parts.times;
    BackwardGrads grads = gradient_of(
        parts, {heads_first(g.params, g.output_grad(0), 1), heads_first(g.params, g.output_grad(1), times),
                heads_first(g.params, g.output_grad(2), times)});
    auto in_form = [&](const Tensor& grad, const Tensor& operand) {
        return in_form_of_operand(g.params, grad, operand);
    };
    Tensor of_log = grads.scores ? sum(grads.scores, {.axes = {-1}}) : Tensor();
    return g.result(
        {{"q", in_form(grads.q, x.q)},
         {"k", in_form(grads.k, x.k)},
         {"v", in_form(grads.v, x.v)},
         {"dy", in_form(grads.dy, x.dy)},
         {"y", in_form(grads.y, x.y)},
         {"log_sum_exp", of_log ? neg(of_log) : of_log},
         {"mask", x.mask && grads.scores ? in_form_of_mask(grads.scores, x.mask) : Tensor()},
         {"dlog_sum_exp",
          x.dlog_sum_exp && grads.rest ? neg(remove_axis(grads.rest, {.axes = {3}})) : Tensor()}});
}

std::optional<double> AttentionBackward::operations(const Params& p, Specs in, Specs) {
    AttentionShape s = attention_shape(name, p, in, 6);
    return products_and_softmax(s, 3 * double(s.width) + 2 * double(s.value_width));
}

std::optional<BatchIndependence> AttentionBackward::batch_independence(const Params&, Specs in, Specs) {
    return independent_but_for(6, in);
}

}  // namespace mge::ops
