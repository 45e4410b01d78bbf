// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/attention/geometry.h"

#include <algorithm>
#include <cmath>

namespace mge::ops {
namespace {

// Which axis is which.
struct Axes {
    int head, row;
};
Axes axes_of(const AttentionParams& p) { return p.side_by_side ? Axes{2, 1} : Axes{1, 2}; }

AttentionStrides strides_of(const AttentionParams& p, const Shape& x) {
    int64_t items = x[1] * x[2] * x[3], outer = x[2] * x[3], inner = x[3];
    return p.side_by_side ? AttentionStrides{items, inner, outer} : AttentionStrides{items, outer, inner};
}

[[noreturn]] void throw_mask(std::string_view who, const Shape& scores, const Shape& mask) {
    throw_value_error(who, "the mask must broadcast to (batch, heads, queries, keys) = ", scores, ", got ",
                      mask);
}

AttentionMaskStrides mask_strides(std::string_view who, const AttentionShape& s, const Shape& mask) {
    const int64_t extents[] = {s.batch, s.heads, s.queries, s.keys};
    int64_t strides[] = {0, 0, 0, 0}, next = 1;
    bool fits = mask.rank() <= 4;
    for (int axis = 3, from = mask.rank() - 1; fits && from >= 0; --axis, --from) {
        fits = mask[from] == 1 || mask[from] == extents[axis];
        strides[axis] = mask[from] == 1 ? 0 : next;
        next *= mask[from];
    }
    if (!fits) throw_mask(who, {s.batch, s.heads, s.queries, s.keys}, mask);
    return {strides[0], strides[1], strides[2], strides[3]};
}

void check_operands(std::string_view who, const AttentionParams& p, Specs in) {
    const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
    auto [head, row] = axes_of(p);
    auto got = text(", got q ", q, ", k ", k, " and v ", v);
    if (!is_float(in[0].dtype)) throw_type_error(who, "its operands must be floating, got ", in[0].dtype);
    if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
        throw_value_error(who, "q, k and v must have four axes", got);
    auto are_equal = [&](const Shape& a, const Shape& b, int axis) {
        return can_be_equal(who, a.extent(axis), b.extent(axis));
    };
    if (!are_equal(q, k, 0) || !are_equal(k, v, 0) || !are_equal(k, v, head) || !are_equal(k, v, row) ||
        !are_equal(q, k, 3))
        throw_value_error(
            who, "q, k and v must have equal batches, k and v equal heads and rows, q and k equal widths",
            got);
    Extent heads = q.extent(head), shared = k.extent(head);
    if (!exact_quotient(heads, shared) && !can_be_equal(who, shared.is(0) ? heads : heads % shared, 0))
        throw_value_error(who, "the number of heads of k must divide that of q", got);
}

}  // namespace

AttentionResults attention_results(std::string_view who, const AttentionParams& p, Specs in, size_t mask) {
    check_operands(who, p, in);
    const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
    auto [head, row] = axes_of(p);
    Shape scores, rows, y = q;
    for (const Extent& extent : {q.extent(0), q.extent(head), q.extent(row), k.extent(row)})
        scores.push_back(extent);
    for (int axis : {0, 1, 2}) rows.push_back(scores.extent(axis));
    y.set(3, v.extent(3));
    if (is_given(in, mask) && !can_be_repeated(who, in[mask].shape, scores))
        throw_mask(who, scores, in[mask].shape);
    return {y, rows};
}

AttentionShape attention_shape(std::string_view who, const AttentionParams& p, Specs in,
                               const TensorSpec& mask) {
    check_operands(who, p, in);
    const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
    auto [head, row] = axes_of(p);
    AttentionShape s{
        .batch = q[0],
        .heads = q[head],
        .shared_heads = k[head],
        .queries = q[row],
        .keys = k[row],
        .width = q[3],
        .value_width = v[3],
        .scale = float(p.scale != 0 ? p.scale : 1 / std::sqrt(double(std::max<int64_t>(q[3], 1)))),
        .is_causal = p.causal};
    s.first_visible = 1 + (p.from_end ? s.keys - s.queries : 0);
    s.q = strides_of(p, q);
    s.k = strides_of(p, k);
    s.v = strides_of(p, v);
    s.y = strides_of(p, attention_result(s, p));
    if (!mask.is_absent()) s.mask = mask_strides(who, s, mask.shape);
    return s;
}

AttentionShape attention_shape(std::string_view who, const AttentionParams& p, Specs in, size_t mask) {
    return attention_shape(who, p, in, mask < in.size() ? in[mask] : TensorSpec{});
}

Shape attention_result(const AttentionShape& s, const AttentionParams& p) {
    if (p.side_by_side) return {s.batch, s.queries, s.heads, s.value_width};
    return {s.batch, s.heads, s.queries, s.value_width};
}

}  // namespace mge::ops
