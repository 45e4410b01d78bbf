// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/attention/gradient.h"

#include <limits>

#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/geometry.h"
#include "libmge/ops/nn/null_is_zero.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {
namespace {

// Heads first, or back.
Tensor turned(const AttentionParams& p, const Tensor& x) {
    return p.side_by_side ? Tensor(transpose(x, {.pattern = {0, 2, 1, 3}})) : x;
}

Tensor total(const Tensor& x) { return sum(x, {.axes = {-1}, .keepdims = true}); }

// Minus infinity where a query does not see a key. Positions are counted in the shape of the scores, so that
// they are on the same device.
Tensor causal_mask(const AttentionShape& s, const Tensor& scores) {
    Tensor ones = full_like(scores, {.value = 1});
    Tensor key = cumsum(ones, {.axis = 3}), query = cumsum(ones, {.axis = 2});
    Tensor hidden = greater_equal(key, add(query, constant_like(query, double(s.first_visible))));
    return where(hidden, full_like(scores, {.value = -std::numeric_limits<double>::infinity()}),
                 full_like(scores, {.value = 0}));
}

}  // namespace

Tensor repeated_heads(const Tensor& x, int64_t times) {
    if (times == 1) return x;
    Tensor copies = broadcast_to(add_axis(x, {.axes = {2}}), {.shape = {-1, -1, times, -1, -1}});
    return flatten(copies, {.start = 1, .end = 2});
}

Tensor heads_first(const AttentionParams& p, const Tensor& x, int64_t times) {
    return x ? repeated_heads(turned(p, widened(x)), times) : x;
}

AttentionParts attention_parts(const AttentionParams& p, const AttentionOperands& x) {
    const TensorSpec specs[] = {x.q.spec(), x.k.spec(), x.v.spec()};
    AttentionShape shape = attention_shape(AttentionBackward::name, p, specs, TensorSpec{});
    int64_t times = shape.heads ? shape.group() : 1;
    AttentionParts parts{.q = heads_first(p, x.q, 1),
                         .k = heads_first(p, x.k, times),
                         .v = heads_first(p, x.v, times),
                         .dy = heads_first(p, x.dy, 1),
                         .y = heads_first(p, x.y, 1),
                         .scale = double(shape.scale),
                         .times = times};
    Tensor scores = scaled(matmul(parts.q, parts.k, {.transpose_b = true}), parts.scale);
    if (x.mask) scores = add(scores, widened(x.mask));
    if (p.causal) scores = add(scores, causal_mask(shape, scores));
    parts.weights = exp(sub(scores, add_axis(x.log_sum_exp, {.axes = {3}})));
    Tensor rest = total(mul(parts.dy, parts.y));
    if (x.dlog_sum_exp) rest = sub(rest, add_axis(x.dlog_sum_exp, {.axes = {3}}));
    parts.of_scores_without = sub(matmul(parts.dy, parts.v, {.transpose_b = true}), rest);
    return parts;
}

Tensor gradient_of_scores(const AttentionParts& parts) { return mul(parts.weights, parts.of_scores_without); }

Tensor in_form_of_operand(const AttentionParams& p, const Tensor& grad, const Tensor& operand) {
    if (!grad) return grad;
    Tensor x = turned(p, grad);
    int head = p.side_by_side ? 2 : 1;
    int64_t heads = x.shape()[head], shared = operand.shape()[head];
    if (shared != heads) {
        IntList parts{-1, x.shape()[1], x.shape()[2], x.shape()[3]};
        parts[size_t(head)] = shared;
        parts.insert(parts.begin() + head + 1, heads / shared);
        x = sum(reshape(x, {.shape = parts}), {.axes = {head + 1}});
    }
    return convert_dtype(x, operand.dtype());
}

Tensor in_form_of_mask(const Tensor& grad, const Tensor& mask) {
    return convert_dtype(reduce_to_shape(grad, mask), mask.dtype());
}

}  // namespace mge::ops
