// SPDX-License-Identifier: Apache-2.0
// Attention: the operator of that name from operator set 23 on, where it says the same; else what it is made
// of.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libmge/device/device.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/attention/geometry.h"

namespace mge::to_onnx {
namespace {

constexpr size_t mask_input = 3, log_sum_exp = 1;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Extents that do not depend on the batch.
struct Extents {
    int64_t heads, shared, width, value_width;
};
Extents extents_of(const Site& s, const ops::AttentionParams& p) {
    int head = p.side_by_side ? 2 : 1;
    return {s.extent(0, head), s.extent(1, head), s.extent(0, 3), s.extent(2, 3)};
}
int64_t queries_of(const Site& s, const ops::AttentionParams& p) {
    return s.extent(0, p.side_by_side ? 1 : 2);
}
int64_t keys_of(const Site& s, const ops::AttentionParams& p) { return s.extent(1, p.side_by_side ? 1 : 2); }

double scale_of(const ops::AttentionParams& p, const Extents& x) {
    return p.scale != 0 ? p.scale : 1 / std::sqrt(double(std::max<int64_t>(x.width, 1)));
}

// ONNX counts from the first key, and what a mask lacks in keys is hidden there, not repeated.
bool is_expressible_in_onnx(const Site& s, const ops::AttentionParams& p) {
    if (s.opset() < 23 || s.is_read(log_sum_exp)) return false;
    if (p.causal && p.from_end && queries_of(s, p) != keys_of(s, p)) return false;
    if (!s.has(mask_input)) return true;
    int rank = s.rank(mask_input);
    return rank >= 2 && s.extent(mask_input, rank - 1) == keys_of(s, p);
}

// 0: the extent that there is.
Operand with_shape(Site& s, const Operand& x, const IntList& shape) {
    return s.emit("Reshape", {x, s.integers(shape)});
}

Operand as_operator(Site& s, const ops::AttentionParams& p, const Extents& x) {
    Attributes attributes{{"scale", scale_of(p, x)}};
    if (p.causal) attributes.push_back({"is_causal", 1});
    Operands inputs{s.in(0), s.in(1), s.in(2), s.in(mask_input)};
    if (!p.side_by_side) return s.emit("Attention", inputs, attributes);
    for (size_t i = 0; i < 3; ++i) inputs[i] = with_shape(s, inputs[i], {0, 0, -1});
    attributes.push_back({"q_num_heads", x.heads});
    attributes.push_back({"kv_num_heads", x.shared});
    return with_shape(s, s.emit("Attention", inputs, attributes), {0, 0, x.heads, -1});
}

// (N, H, rows, width) of an operand, its heads repeated for the queries' that share them.
Operand heads_of(Site& s, const ops::AttentionParams& p, const Extents& x, size_t i) {
    Operand heads = p.side_by_side ? s.transpose(s.in(i), {0, 2, 1, 3}) : s.in(i);
    if (i == 0 || x.heads == x.shared) return heads;
    Operand each = s.emit("Expand", {s.unsqueeze(heads, {2}), s.integers({1, 1, x.heads / x.shared, 1, 1})});
    int64_t width = i == 1 ? x.width : x.value_width;
    return with_shape(s, each, {0, x.heads, -1, width});
}

// Minus infinity where a query does not see a key, (queries, keys).
Operand causal_mask(Site& s, const ops::AttentionParams& p) {
    int64_t queries = queries_of(s, p), keys = keys_of(s, p), first = 1 + (p.from_end ? keys - queries : 0);
    std::vector<float> values;
    for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j) values.push_back(j < i + first ? 0 : float(-infinity));
    Tensor mask = tensor_from_host({DType::f32, {queries, keys}, {}}, values.data(), host_device);
    return s.cast(s.constant(mask), DType::f32, s.dtype());
}

// A query that sees nothing takes nothing.
struct Weights {
    Operand scores, is_blind;  // is_blind: empty where none can be
    Operand of(Site& s) const {
        Operand weights = s.emit("Softmax", {scores}, {{"axis", -1}});
        return is_blind.empty() ? weights : s.emit("Where", {is_blind, s.number(0, s.dtype()), weights});
    }
    // log_sum_exp: infinity where nothing is seen.
    Operand logarithm(Site& s) const {
        Operand wide = s.cast(scores, s.dtype(), DType::f32);
        Operand sum = reduced(s, "ReduceLogSumExp", wide, {-1}, true);
        if (!is_blind.empty()) sum = s.emit("Where", {is_blind, s.number(infinity, DType::f32), sum});
        return s.squeeze(sum, {3});
    }
};

Weights weights_of(Site& s, const ops::AttentionParams& p, const Extents& x) {
    Operand q = s.emit("Mul", {heads_of(s, p, x, 0), s.number(scale_of(p, x), s.dtype())});
    Weights made{s.emit("MatMul", {q, s.transpose(heads_of(s, p, x, 1), {0, 1, 3, 2})}), {}};
    if (s.has(mask_input)) made.scores = s.emit("Add", {made.scores, s.in(mask_input)});
    if (p.causal) made.scores = s.emit("Add", {made.scores, causal_mask(s, p)});
    if (s.has(mask_input) || (p.causal && p.from_end)) {
        Operand largest = reduced(s, "ReduceMax", made.scores, {-1}, true);
        made.is_blind = s.emit("Equal", {largest, s.number(-infinity, s.dtype())});
    }
    return made;
}

Operands export_attention(Site& s) {
    auto& p = s.params<ops::Attention>();
    Extents x = extents_of(s, p);
    if (is_expressible_in_onnx(s, p)) return {as_operator(s, p, x)};
    Weights weights = weights_of(s, p, x);
    Operand y = s.emit("MatMul", {weights.of(s), heads_of(s, p, x, 2)});
    if (p.side_by_side) y = s.transpose(y, {0, 2, 1, 3});
    if (!s.is_read(log_sum_exp)) return {y};
    return {y, weights.logarithm(s)};
}

}  // namespace

ExportRows attention_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Attention::info, export_attention, "Attention"},
    };
    return rows;
}

}  // namespace mge::to_onnx
