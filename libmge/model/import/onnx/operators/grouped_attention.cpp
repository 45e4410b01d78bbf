// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/grouped_attention.h"

#include <cmath>
#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/attention/gradient.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

Tensor length_of_axis(const Tensor& x, int axis) { return as_scalar(std::get<Tensor>(extent_of(x, axis))); }

// Queries, keys and values: (batch, length, heads, width).
struct Words {
    Tensor queries, keys, values;
    int64_t heads = 0, shared = 0;
};

int64_t known_width(const Site& site, size_t i) {
    auto width = find_extent(site.in(i), 2);
    if (!width) unsupported("an open width");
    return *width;
}

// Keys and values may follow the queries in one operand.
Words words_of(const Site& site) {
    Words words{.heads = site.attributes.integer("num_heads", 0),
                .shared = site.attributes.integer("kv_num_heads", 0)};
    if (words.heads < 1 || words.shared < 1 || words.heads % words.shared)
        invalid("its ", counted(words.heads, "query head"), " cannot share ",
                counted(words.shared, "key head"));
    auto apart = [&](const Tensor& x, int64_t heads, int64_t width) {
        if (width % heads)
            invalid("a width of ", width, " is not a multiple of its ", counted(heads, "head"));
        return reshaped(x, {extent_of(x, 0), extent_of(x, 1), heads, width / heads});
    };
    int64_t width = known_width(site, 0);
    if (site.has(1)) {
        words.queries = apart(site.in(0), words.heads, width);
        words.keys = apart(site.in(1), words.shared, known_width(site, 1));
        words.values = apart(site.in(2), words.shared, known_width(site, 2));
        return words;
    }
    int64_t all = words.heads + 2 * words.shared;
    Tensor together = apart(site.in(0), all, width);
    words.queries = cut(together, 2, 0, words.heads);
    words.keys = cut(together, 2, words.heads, words.heads + words.shared);
    words.values = cut(together, 2, words.heads + words.shared, all);
    return words;
}

// The positions of this run's words: a first run starts at 0, later ones end with their sequence. (batch,
// length)
Tensor places_of(const Site& site, const Tensor& queries, const Tensor& total) {
    Tensor length = length_of_axis(queries, 1);
    Tensor ends = ops::add(as_dtype(ops::reshape(site.in(5), {.shape = {-1, 1}}), DType::i64), whole(1));
    Tensor first = ops::where(ops::equal(length, total), whole(0), ops::sub(ends, length));
    return ops::add(first, count_up(extent_of(queries, 1), DType::i64));
}

// (batch, heads, length, width) as long as the words that there are, at least; the new ones at their places.
Tensor kept_with(const Tensor& past, const Tensor& x, const Tensor& places, const Tensor& total) {
    Tensor fresh = ops::transpose(x, {.pattern = {0, 2, 1, 3}});
    Tensor more = total;
    if (past) more = ops::maximum(ops::sub(total, length_of_axis(past, 2)), whole(0));
    Tensor shape = target_of({extent_of(fresh, 0), extent_of(fresh, 1),
                              Extent(ops::reshape(more, {.shape = {1}})), extent_of(fresh, 3)});
    Tensor zeros = ops::broadcast_to(number(fresh, 0), shape);
    assume_like(zeros, symbolic_shape(fresh), {2});
    Tensor kept = past ? Tensor(ops::concat({past, zeros}, {.axis = 2})) : zeros;
    // One sequence: a slice of one axis, which can be replaced in place.
    if (find_extent(fresh, 0) == 1) {
        Tensor place = ops::reshape(as_index(places), {.shape = {-1}});
        Tensor result = ops::set_take({kept, fresh, place}, {.axes = {2}});
        assume_like(result, symbolic_shape(fresh), {2});
        return result;
    }
    Tensor batch = as_column(count_up(extent_of(fresh, 0), DType::i32), 1);
    Tensor changed = ops::set_take({moved_axis(kept, 2, 1), moved_axis(fresh, 2, 1), batch, as_index(places)},
                                   {.axes = {0, 1}});
    Tensor result = moved_axis(changed, 1, 2);
    assume_like(result, symbolic_shape(fresh), {2});
    return result;
}

// The term added to the scores, (batch, 1, queries, keys).
Tensor hidden_keys(const Site& site, const Tensor& places, const Tensor& keys) {
    Tensor key = count_up(extent_of(keys, 2), DType::i64);
    Tensor distance = ops::sub(ops::add_axis(places, {.axes = {1, 3}}), key);
    Tensor is_seen = ops::greater_equal(distance, whole(0));
    int64_t window = site.attributes.integer("local_window_size", -1);
    if (window == 0) unsupported("a window without keys");
    if (window > 0) is_seen = ops::logical_and(is_seen, ops::less(distance, whole(window)));
    Tensor bias = site.has(10) ? site.in(10) : number(keys, 0);
    return ops::where(is_seen, bias, number(bias, -std::numeric_limits<double>::infinity()));
}

void require_plain(const Site& site) {
    for (auto name : {"k_quant_type", "v_quant_type"})
        if (site.attributes.word(name, "NONE") != "NONE") unsupported("quantised keys and values");
    if (site.attributes.integer("qk_output", 0)) unsupported("scores as an output");
    if (site.has(3) != site.has(4)) invalid("it has past keys without past values, or the reverse");
}

// The scores of the sink, one per head or 0. Null if the softmax has none.
Tensor sink_of(const Site& site) {
    bool is_zero = site.attributes.integer("smooth_softmax", 0) > 0;
    if (site.has(11)) return ops::reshape(as_dtype(site.in(11), DType::f32), {.shape = {1, -1, 1, 1}});
    return is_zero ? real(0) : Tensor();
}

Tensor softmax_with(const Tensor& sink, const Tensor& scores) {
    Tensor largest = ops::maximum(ops::max(scores, {.axes = {-1}, .keepdims = true}), sink);
    Tensor shares = ops::exp(ops::sub(scores, largest));
    Tensor sum = ops::sum(shares, {.axes = {-1}, .keepdims = true});
    return ops::div(shares, ops::add(sum, ops::exp(ops::sub(sink, largest))));
}

// Attention from single operators, for scores that ops::attention lacks.
Tensor composed(const Tensors& in, double scale, double cap, const Tensor& sink) {
    auto &queries = in[0], &keys = in[1];
    int64_t times = *find_extent(queries, 1) / *find_extent(keys, 1);
    if (scale <= 0) scale = 1 / std::sqrt(double(*find_extent(queries, 3)));
    Tensor scores =
        as_dtype(ops::matmul(queries, ops::repeated_heads(keys, times), {.transpose_b = true}), DType::f32);
    scores = ops::mul(scores, real(scale));
    if (cap > 0) scores = ops::mul(ops::tanh(ops::div(scores, real(cap))), real(cap));
    scores = ops::add(scores, as_dtype(in[3], DType::f32));
    Tensor weights = sink ? softmax_with(sink, scores) : softmax_along(scores, -1);
    return ops::matmul(as_dtype(weights, queries.dtype()), ops::repeated_heads(in[2], times));
}

// The places of all words, or of the first one.
Tensors import_runtime_rotary_embedding(const Site& site) {
    Tensor places = as_dtype(site.in(1), DType::i64);
    if (site.attributes.integer("is_packed_batching", 0)) unsupported("packed batching");
    if (site.attributes.number("scale", 1) != 1) unsupported("a scale");
    if (rank_of(places) == 1) {
        const Tensor& x = site.in(0);
        Extent length = extent_of(x, rank_of(x) == 4 ? 2 : 1);
        places = ops::broadcast_to(ops::add(places, count_up(length, DType::i64)),
                                   target_of({extent_of(x, 0), length}));
    }
    return {rotated_heads(site, site.in(2), site.in(3), places)};
}

Tensors import_group_query_attention(const Site& site) {
    require_plain(site);
    Words words = words_of(site);
    Tensor total = as_scalar(as_dtype(site.in(6), DType::i64));
    Tensor places = places_of(site, words.queries, total);
    bool is_interleaved = site.attributes.integer("rotary_interleaved", 0) != 0;
    if (site.attributes.integer("do_rotary", 0)) {
        auto half = find_extent(site.in(7), 1);
        if (!half) unsupported("a table of angles with an open width");
        Rotation rotation{site.in(7), site.in(8), site.has(9) ? site.in(9) : places, 2 * *half,
                          is_interleaved};
        words.queries = rotated(words.queries, rotation);
        words.keys = rotated(words.keys, rotation);
    }
    Tensor keys = kept_with(site.optional(3), words.keys, places, total);
    Tensor values = kept_with(site.optional(4), words.values, places, total);
    Tensor queries = ops::transpose(words.queries, {.pattern = {0, 2, 1, 3}});
    Tensors operands{queries, keys, values, hidden_keys(site, places, keys)};
    double scale = site.attributes.number("scale", 0), cap = site.attributes.number("softcap", 0);
    Tensor sink = sink_of(site);
    bool is_fused = cap <= 0 && !sink;
    Tensor y = is_fused ? Tensor(ops::attention(TensorList(operands), {.scale = scale})[0])
                        : composed(operands, scale, cap, sink);
    return {side_by_side(y), keys, values};
}

}  // namespace

ImportRows grouped_attention_rows() {
    static constexpr ImportRow rows[] = {
        {"com.microsoft.GroupQueryAttention", import_group_query_attention, 1, newest_opset},
        {"com.microsoft.RotaryEmbedding", import_runtime_rotary_embedding, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
