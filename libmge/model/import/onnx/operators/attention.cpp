// SPDX-License-Identifier: Apache-2.0
// Attention: queries, keys and values as (batch, heads, length, width), or with the heads side by side.

#include <cmath>
#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/operators/grouped_attention.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/attention/gradient.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t unbounded = -1;

enum Scores : int64_t { plain, capped, biased, normalised };

Tensor with_heads(const Site& site, size_t i, std::string_view attribute) {
    return with_split_heads(site.in(i), site.attributes.integer(attribute, 0));
}

int64_t heads_of(const Tensor& x) {
    if (auto heads = find_extent(x, 1)) return *heads;
    unsupported("an open number of heads");
}

Tensor both(const Tensor& a, const Tensor& b) { return a ? ops::logical_and(a, b) : b; }

// The number of keys before the first query: those of the past, or those of each sequence without padding.
Tensor offset_of(const Site& site, const Tensor& queries) {
    if (site.has(4)) return ops::reshape(std::get<Tensor>(extent_of(site.in(4), 2)), {.shape = {}});
    if (!site.has(6)) return scalar_tensor(0, DType::i64, host_device);
    Tensor length = std::get<Tensor>(extent_of(queries, 2));
    return ops::reshape(ops::sub(site.in(6), length), {.shape = {-1, 1, 1, 1}});
}

// Which keys a query may see; null: all.
Tensor allowed_keys(const Site& site, const Tensor& queries, const Tensor& keys) {
    Tensor key = count_up(extent_of(keys, 2), DType::i64), allowed;
    Tensor query = ops::add_axis(count_up(extent_of(queries, 2), DType::i64), {.axes = {1}});
    int64_t left = site.attributes.integer("left_window_size", unbounded);
    int64_t right = site.attributes.integer("right_window_size", unbounded);
    if (site.attributes.integer("is_causal", 0)) right = right == unbounded ? 0 : std::min<int64_t>(right, 0);
    if (left != unbounded || right != unbounded) {
        Tensor distance = ops::sub(ops::add(query, offset_of(site, queries)), key);
        if (left != unbounded)
            allowed = both(allowed, ops::less_equal(distance, number(distance, double(left))));
        if (right != unbounded)
            allowed = both(allowed, ops::greater_equal(distance, number(distance, -double(right))));
    }
    if (site.has(6))
        allowed = both(allowed, ops::less(key, ops::reshape(site.in(6), {.shape = {-1, 1, 1, 1}})));
    return allowed;
}

// The mask in the file's format, extended to the number of keys: a shorter mask hides the rest.
Tensor full_mask(const Site& site, const Tensor& keys) {
    Tensor mask = site.in(3);
    bool is_bool = mask.dtype() == DType::boolean;
    int last = rank_of(mask) - 1;
    if (last < 0) invalid("its mask is a scalar");
    auto have = find_extent(mask, last), want = find_extent(keys, 2);
    if (!have || !want || *have >= *want) return mask;
    IntList before(size_t(last) + 1, 0), after = before;
    after.back() = *want - *have;
    Tensor wide = is_bool ? as_dtype(mask, DType::u8) : mask;
    wide = ops::pad(wide, {.before = before, .after = after, .value = is_bool ? 0 : -infinity});
    return as_dtype(wide, mask.dtype());
}

// The result of a query that sees no keys is 0.
Tensor probabilities(const Tensor& scores) {
    Tensor largest = ops::max(scores, {.axes = {-1}, .keepdims = true});
    Tensor is_blind = ops::equal(largest, number(scores, -infinity));
    Tensor safe = ops::where(is_blind, number(scores, 0), scores);
    return ops::where(is_blind, number(scores, 0), softmax_along(safe, -1));
}

// (batch, length, heads, width) of heads side by side.
Tensor in_heads(const Tensor& x, int64_t heads) {
    if (rank_of(x) != 3)
        invalid("its input has shape ", x.shape(), ", expected rank 3 for ", counted(heads, "head"));
    auto width = find_extent(x, 2);
    if (!width) unsupported("heads of an open width");
    if (heads < 1 || *width % heads)
        invalid(counted(heads, "head"), " do not divide the width of ", x.shape());
    return reshaped(x, {extent_of(x, 0), extent_of(x, 1), heads, *width / heads});
}

Tensor in_precision(const Site& site, const Tensor& scores) {
    auto wanted = int(site.attributes.integer("softmax_precision", 0));
    if (!wanted) return scores;
    auto dtype = dtype_of(wanted);
    if (!dtype || !is_float(*dtype)) unsupported("a softmax of ", name_of_data_type(wanted));
    return as_dtype(scores, *dtype);
}

// Several heads of queries may share one of keys.
Tensor scores_of(const Site& site, const Tensor& queries, const Tensor& keys) {
    int64_t heads = heads_of(queries), shared = heads_of(keys);
    if (!shared || heads % shared)
        invalid("its ", counted(heads, "query head"), " cannot share ", counted(shared, "key head"));
    auto width = find_extent(queries, 3);
    if (!width) unsupported("heads of an open width");
    double scale = std::sqrt(site.attributes.number("scale", 1 / std::sqrt(double(*width))));
    Tensor right = ops::repeated_heads(keys, heads / shared);
    return ops::matmul(ops::mul(queries, number(queries, scale)), ops::mul(right, number(right, scale)),
                       {.transpose_b = true});
}

// The steps one by one: intermediate results are needed, or the operator does not support them.
Tensors composed(const Site& site) {
    Tensor queries = with_heads(site, 0, "q_num_heads");
    Tensor keys = with_heads(site, 1, "kv_num_heads"), values = with_heads(site, 2, "kv_num_heads");
    if (site.has(4)) keys = ops::concat({site.in(4), keys}, {.axis = 2});
    if (site.has(5)) values = ops::concat({site.in(5), values}, {.axis = 2});
    Tensors present{keys, values};
    Tensor allowed = allowed_keys(site, queries, keys), scores = scores_of(site, queries, keys);
    if (double cap = site.attributes.number("softcap", 0); cap > 0)
        scores = ops::mul(ops::tanh(ops::div(scores, number(scores, cap))), number(scores, cap));
    int64_t mode = site.attributes.integer("qk_matmul_output_mode", plain);
    Tensor shown = scores;
    if (site.has(3)) {
        Tensor mask = full_mask(site, keys);
        if (mask.dtype() == DType::boolean)
            allowed = both(allowed, mask);
        else
            scores = ops::add(scores, mask);
    }
    if (allowed) scores = ops::where(allowed, scores, number(scores, -infinity));
    if (mode == biased) shown = scores;
    Tensor weights = probabilities(in_precision(site, scores));
    if (mode == normalised) shown = weights;
    values = ops::repeated_heads(values, heads_of(queries) / heads_of(keys));
    Tensor y = ops::matmul(as_dtype(weights, queries.dtype()), values);
    if (site.rank(0) == 3) y = side_by_side(y);
    return {y, present[0], present[1], as_dtype(shown, queries.dtype())};
}

// Supported by the fused operator and its dtypes: no scores are requested, or capped, or in double precision.
bool is_fused(const Site& site) {
    int wanted = int(site.attributes.integer("softmax_precision", 0));
    auto precision = dtype_of(wanted);
    bool is_single = !wanted || (precision && is_float(*precision) && precision != DType::f64);
    DType dtype = site.in(0).dtype();
    bool is_known = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
    bool is_alike = site.in(1).dtype() == dtype && site.in(2).dtype() == dtype;
    return is_known && is_alike && is_single && !site.makes(3) && site.attributes.number("softcap", 0) <= 0 &&
           site.attributes.number("scale", 1) > 0;
}

// Causal as defined by the operator: no windows, and past keys only before the first query.
bool is_plainly_causal(const Site& site) {
    return site.attributes.integer("is_causal", 0) && !site.has(4) && !site.has(6) &&
           site.attributes.integer("left_window_size", unbounded) == unbounded &&
           site.attributes.integer("right_window_size", unbounded) == unbounded;
}

// The masks and biases of the scores as one sum; null if there are none. `queries` and `keys` have heads
// first.
Tensor added_mask(const Site& site, const Tensor& queries, const Tensor& keys) {
    Tensor allowed, mask;
    if (!is_plainly_causal(site)) allowed = allowed_keys(site, queries, keys);
    if (site.has(3)) mask = full_mask(site, keys);
    if (mask && mask.dtype() == DType::boolean) {
        allowed = both(allowed, mask);
        mask = {};
    }
    if (mask) mask = as_dtype(mask, queries.dtype());
    if (!allowed) return mask;
    Tensor otherwise = mask ? mask : number(queries, 0);
    return ops::where(allowed, otherwise, number(queries, -infinity));
}

Tensors fused(const Site& site) {
    Tensor queries = with_heads(site, 0, "q_num_heads");
    Tensor keys = with_heads(site, 1, "kv_num_heads"), values = with_heads(site, 2, "kv_num_heads");
    if (site.has(4)) keys = ops::concat({site.in(4), keys}, {.axis = 2});
    if (site.has(5)) values = ops::concat({site.in(5), values}, {.axis = 2});
    int64_t heads = heads_of(queries), shared = heads_of(keys);
    if (!shared || heads % shared)
        invalid("its ", counted(heads, "query head"), " cannot share ", counted(shared, "key head"));
    Tensor mask = added_mask(site, queries, keys);
    ops::Attention::Params params{.scale = site.attributes.number("scale", 0),
                                  .causal = is_plainly_causal(site)};
    site.attributes.integer("qk_matmul_output_mode", plain);
    bool is_flat =
        site.rank(0) == 3 && site.rank(1) == 3 && site.rank(2) == 3 && !site.has(4) && !site.has(5);
    if (!is_flat) {
        Tensor y = ops::attention({queries, keys, values, mask}, params)[0];
        return {site.rank(0) == 3 ? side_by_side(y) : y, keys, values};
    }
    params.side_by_side = true;
    Tensor y = ops::attention(
        {in_heads(site.in(0), heads), in_heads(site.in(1), shared), in_heads(site.in(2), shared), mask},
        params)[0];
    return {ops::flatten(y, {.start = 2, .end = 3}), keys, values};
}

Tensors import_attention(const Site& site) {
    if (is_fused(site)) return fused(site);
    return composed(site);
}

// The result of a node's inner graph for all scores, or for the softmax.
Tensor modified(const Site& site, std::string_view attribute, const Tensor& scores) {
    auto* graph = site.attributes.graph(attribute);
    if (!graph) return scores;
    Tensors results = site.importer.import_inner(*graph, Tensors{scores});
    if (results.size() != 1) invalid("its '", attribute, "' has ", results.size(), " outputs, expected one");
    if (!results[0]) unsupported("an inner graph with unsupported nodes");
    if (results[0].dtype() != scores.dtype())
        invalid("its '", attribute, "' changes ", scores.spec(), " to ", results[0].spec());
    return results[0];
}

// Masks, caps and biases are in inner graphs of the node.
Tensors import_flex_attention(const Site& site) {
    for (size_t i = 0; i < 3; ++i)
        if (site.rank(i) != 4) invalid("input ", i, " has rank ", site.rank(i), ", expected 4");
    bool is_plain = !site.attributes.has("score_mod") && !site.attributes.has("prob_mod");
    if (is_plain && is_fused(site)) return {fused(site)[0]};
    Tensor queries = site.in(0), keys = site.in(1), values = site.in(2);
    Tensor scores = scores_of(site, queries, keys);
    scores = site.attributes.has("softmax_precision") ? in_precision(site, scores)
             : scores.dtype() == DType::f64           ? scores
                                                      : as_dtype(scores, DType::f32);
    Tensor weights = modified(site, "prob_mod", softmax_along(modified(site, "score_mod", scores), -1));
    values = ops::repeated_heads(as_dtype(values, weights.dtype()), heads_of(queries) / heads_of(keys));
    return {as_dtype(ops::matmul(weights, values), queries.dtype())};
}

Tensors import_rotary_embedding(const Site& site) {
    return {rotated_heads(site, site.in(1), site.in(2), site.optional(3))};
}

// New keys or values at places of their own in each sequence of the batch.
Tensors import_tensor_scatter(const Site& site) {
    const Tensor &x = site.in(0), &update = site.in(1);
    int axis = site.axis(site.attributes.integer("axis", -2), rank_of(x));
    std::string mode = site.attributes.word("mode", "linear");
    if (mode != "linear" && mode != "circular") unsupported("the mode '", mode, "'");
    if (axis < 1) invalid("its axis is the batch axis");
    Tensor batch = as_column(count_up(extent_of(x, 0), DType::i32), 1);
    Tensor place = count_up(extent_of(update, axis), DType::i64);
    if (site.has(2)) place = ops::add(place, as_column(as_dtype(site.in(2), DType::i64), 1));
    if (mode == "circular") place = ops::mod(place, std::get<Tensor>(extent_of(x, axis)));
    Tensor changed = ops::set_take(
        {moved_axis(x, axis, 1), moved_axis(update, axis, 1), batch, as_index(place)}, {.axes = {0, 1}});
    return {moved_axis(changed, 1, axis)};
}

}  // namespace

Tensor with_split_heads(const Tensor& x, int64_t heads) {
    if (rank_of(x) == 4) return x;
    return ops::transpose(in_heads(x, heads), {.pattern = {0, 2, 1, 3}});
}

Tensor side_by_side(const Tensor& x) {
    return ops::flatten(ops::transpose(x, {.pattern = {0, 2, 1, 3}}), {.start = 2, .end = 3});
}

Tensor rotated(const Tensor& x, const Rotation& rotation) {
    auto width = find_extent(x, 3);
    if (!width) unsupported("heads of an open width");
    int64_t turned = rotation.turned ? rotation.turned : *width;
    if (turned < 2 || turned > *width || turned % 2)
        invalid("it rotates ", turned, " of ", counted(*width, "element"));
    bool interleaved = rotation.is_interleaved;
    auto angle = [&](Tensor cache) -> Tensor {
        if (rotation.places) cache = ops::take({cache, as_index(rotation.places)}, {.axes = {0}});
        return ops::add_axis(cache, {.axes = {2}});
    };
    Tensor cosine = angle(rotation.cosines), sine = angle(rotation.sines);
    auto half = [&](int64_t i) -> Tensor {
        if (!interleaved) return cut(x, 3, i * turned / 2, (i + 1) * turned / 2);
        return ops::slice({x}, {.items = {3, i, turned, 2, 0}});
    };
    Tensor a = half(0), b = half(1);
    Tensor first = ops::sub(ops::mul(cosine, a), ops::mul(sine, b));
    Tensor second = ops::add(ops::mul(sine, a), ops::mul(cosine, b));
    if (interleaved) {
        first = ops::add_axis(first, {.axes = {4}});
        second = ops::add_axis(second, {.axes = {4}});
    }
    Tensor y = ops::concat({first, second}, {.axis = interleaved ? 4 : 3});
    if (interleaved) y = ops::flatten(y, {.start = 3, .end = 4});
    if (turned < *width) y = ops::concat({y, cut(x, 3, turned, *width)}, {.axis = 3});
    return y;
}

Tensor rotated_heads(const Site& site, const Tensor& cosines, const Tensor& sines, const Tensor& places) {
    Rotation rotation{cosines, sines, places, site.attributes.integer("rotary_embedding_dim", 0),
                      site.attributes.integer("interleaved", 0) != 0};
    int64_t heads = site.attributes.integer("num_heads", 0);
    const Tensor& x = site.in(0);
    if (rank_of(x) != 4) return ops::flatten(rotated(in_heads(x, heads), rotation), {.start = 2, .end = 3});
    Tensor y = rotated(ops::transpose(x, {.pattern = {0, 2, 1, 3}}), rotation);
    return ops::transpose(y, {.pattern = {0, 2, 1, 3}});
}

ImportRows attention_rows() {
    static constexpr ImportRow rows[] = {
        {"Attention", import_attention, 23},
        {"RotaryEmbedding", import_rotary_embedding, 23},
        {"TensorScatter", import_tensor_scatter, 24},
        {"ai.onnx.preview.FlexAttention", import_flex_attention, 1, 1},
    };
    return rows;
}

}  // namespace mge::onnx
