// SPDX-License-Identifier: Apache-2.0
// The domain com.microsoft: transformers as optimised by ONNX Runtime.

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// With separate heads: (batch, heads, length, width).
struct Heads {
    Tensor queries, keys, values;
};

// The term that a mask of 1 and 0 adds to the scores. It has an element for each key, or for each query and
// key; or it contains the number of keys.
Tensor mask_as_sum(const Site& site, const Tensor& mask, const Heads& heads) {
    int rank = rank_of(mask);
    if (rank < 1 || rank > 3) unsupported("a mask of rank ", rank);
    Tensor seen;
    if (rank == 1) {
        auto &have = mask.shape(), &batch = heads.queries.shape();
        if (!have.is_known() || !batch.is_known() || have[0] != batch[0]) unsupported("a mask of key starts");
        Tensor length = as_dtype(with_trailing_axes(mask, 1), DType::i64);
        seen = as_dtype(ops::less(count_up(extent_of(heads.keys, 2), DType::i64), length), DType::f32);
    } else {
        seen = as_dtype(mask, DType::f32);
    }
    seen = ops::add_axis(seen, {.axes = rank == 3 ? IntList{1} : IntList{1, 2}});
    double hidden = site.attributes.number("mask_filter_value", -10000);
    return ops::mul(ops::sub(seen, real(1)), real(-hidden));
}

// `mask` and `sum` may be null. With a single direction, queries do not see later keys; keys of the past come
// before the first.
Tensor attended(const Site& site, const Heads& heads, const Tensor& mask, const Tensor& sum) {
    Tensor added = sum;
    if (mask) {
        Tensor hidden = as_dtype(mask_as_sum(site, mask, heads), heads.queries.dtype());
        added = sum ? Tensor(ops::add(sum, hidden)) : hidden;
    }
    ops::Attention::Params params{.scale = site.attributes.number("scale", 0),
                                  .causal = site.attributes.integer("unidirectional", 0) != 0,
                                  .from_end = true};
    return side_by_side(ops::attention({heads.queries, heads.keys, heads.values, added}, params)[0]);
}

Tensor behind(const Tensor& past, const Tensor& x) { return ops::concat({past, x}, {.axis = 2}); }

Tensors import_multi_head_attention(const Site& site) {
    int64_t count = site.attributes.integer("num_heads", 0);
    if (!site.has(1) || !site.has(2)) unsupported("packed queries, keys and values");
    Tensor bias = site.optional(3);
    auto width = find_extent(site.in(0), 2);
    if (!width) unsupported("an open width");
    auto apart = [&](size_t i) {
        Tensor x = site.in(i);
        bool has_heads = rank_of(x) == 4;
        if (bias && !has_heads) {
            int64_t begin = i * *width, end = i == 2 ? bias.shape()[0] : begin + *width;
            x = ops::add(x, cut(bias, 0, begin, end));
        }
        return with_split_heads(x, count);
    };
    Heads heads{apart(0), apart(1), apart(2)};
    if (site.has(6)) heads.keys = behind(site.in(6), heads.keys);
    if (site.has(7)) heads.values = behind(site.in(7), heads.values);
    Tensor y = attended(site, heads, site.optional(4), site.optional(5));
    return {y, heads.keys, heads.values};
}

}  // namespace

// Queries, keys and values are one product; the past contains both keys and values, and so does the result.
Tensors import_runtime_attention(const Site& site) {
    int64_t count = site.attributes.integer("num_heads", 0);
    if (site.attributes.integers("qkv_hidden_sizes")) unsupported("its attribute 'qkv_hidden_sizes'");
    if (site.attributes.integer("do_rotary", 0)) unsupported("rotary embedding (do_rotary)");
    if (site.attributes.integer("past_present_share_buffer", 0)) unsupported("a shared past buffer");
    Tensor product = ops::matmul(site.in(0), site.in(1));
    if (site.has(2)) product = ops::add(product, site.in(2));
    auto width = find_extent(product, 2);
    if (!width || *width % 3)
        invalid("its weights have shape ", site.in(1).shape(),
                ", expected three times the width of the heads");
    auto third = [&](int64_t i) {
        return with_split_heads(cut(product, 2, i * *width / 3, (i + 1) * *width / 3), count);
    };
    Heads heads{third(0), third(1), third(2)};
    if (site.has(4)) {
        heads.keys = behind(element(site.in(4), 0, 0), heads.keys);
        heads.values = behind(element(site.in(4), 0, 1), heads.values);
    }
    Tensor y = attended(site, heads, site.optional(3), site.optional(5));
    if (!site.makes(1)) return {y};
    Tensor keys = ops::add_axis(heads.keys, {.axes = {0}}),
           values = ops::add_axis(heads.values, {.axes = {0}});
    return {y, ops::concat({keys, values}, {.axis = 0})};
}

// Embeddings of words, positions and segments; and the number of words without padding.
Tensors import_embed_layer_norm(const Site& site) {
    auto rows = [&](size_t table, const Tensor& index) -> Tensor {
        return ops::take({site.in(table), as_index(index)}, {.axes = {0}});
    };
    Tensor place = site.has(8) ? site.in(8) : count_up(extent_of(site.in(0), 1), DType::i32);
    Tensor sum = ops::add(rows(2, site.in(0)), rows(3, place));
    if (site.has(1)) sum = ops::add(sum, rows(4, site.in(1)));
    double epsilon = site.attributes.number("epsilon", double(1e-12F));
    site.attributes.integer("mask_index_type", 0);
    Tensor y = ops::layer_norm(sum, site.in(5), site.in(6), {.axes = 1, .epsilon = epsilon})[0];
    Tensor mask = site.has(7) ? site.in(7) : site.in(0);
    Tensor words = ops::sum(as_dtype(mask, DType::i32), {.axes = {1}});
    if (!site.has(7)) words = ops::mul(words, number(words, 0));
    return {y, words, sum};
}

ImportRows runtime_attention_rows() {
    static constexpr ImportRow rows[] = {
        {"com.microsoft.Attention", import_runtime_attention, 1, newest_opset},
        {"com.microsoft.EmbedLayerNormalization", import_embed_layer_norm, 1, newest_opset},
        {"com.microsoft.MultiHeadAttention", import_multi_head_attention, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
