// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libmge/graph/readers.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/shape/broadcast.h"

namespace mge {
namespace {

constexpr int rank_of_scores = 4;
// A mask of no more hides as minus infinity does.
constexpr float out_of_sight = -1e9F;

// A causal mask: query i sees key j if j <= i, counted from the first of both or from the last. shows(n,
// true): element n means that a key is visible; with false, that it is hidden.
template <class Shows>
std::optional<AttentionMask> causal_mask(const Shape& mask, const Shape& scores, Shows shows) {
    if (scores.rank() != rank_of_scores) return std::nullopt;
    const int64_t queries = scores[rank_of_scores - 2], keys = scores[rank_of_scores - 1];
    // One row or column could represent more of them at another shape.
    if (queries < 2 || keys < 2 || mask.rank() < 2 || mask[mask.rank() - 2] != queries ||
        mask[mask.rank() - 1] != keys)
        return std::nullopt;
    for (bool from_end : {false, true}) {
        const int64_t more = from_end ? keys - queries : 0;
        bool fits = more >= 0;
        for (int64_t n = 0; fits && n < mask.numel(); ++n)
            fits = shows(n, n % keys <= n / keys % queries + more);
        if (fits) return AttentionMask{.is_causal = true, .is_from_end = from_end};
    }
    return std::nullopt;
}

// All its numbers are finite, as where a mask hides by the lowest one.
bool has_finite_numbers(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    if (const Tensor& t = value.constant) {
        const float* data = t.dtype() == DType::f32 ? t.data<float>() : nullptr;
        return data && std::all_of(data, data + t.spec().numel(), [](float x) { return std::isfinite(x); });
    }
    const Node* node = maker_of(graph, id);
    if (!node) return false;
    if (node->op == &ops::Where::info)
        return has_finite_numbers(graph, node->inputs[1]) && has_finite_numbers(graph, node->inputs[2]);
    const bool moves =
        node->op->traits.view || node->op == &ops::BroadcastTo::info || node->op == &ops::Slice::info;
    return moves && has_finite_numbers(graph, node->inputs[0]);
}

// Some number above minus infinity in each row.
bool leaves_something(const Tensor& mask) {
    if (!mask) return false;
    auto& shape = mask.spec().shape;
    const int64_t row = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    const float* data = mask.data<float>();
    auto is_out_of_sight = [](float x) { return x == -std::numeric_limits<float>::infinity(); };
    for (int64_t i = 0; i < mask.spec().numel(); i += row)
        if (std::all_of(data + i, data + i + row, is_out_of_sight)) return false;
    return true;
}

}  // namespace

std::optional<AttentionMask> added_mask(const Graph& graph, ValueId id, const Shape& scores,
                                        bool is_guarded) {
    const Value& mask = graph.value(id);
    if (mask.spec.dtype != DType::f32 || !mask.spec.shape.is_known() ||
        mask.spec.shape.rank() > rank_of_scores)
        return std::nullopt;
    if (!is_guarded && !leaves_something(mask.constant) && !has_finite_numbers(graph, id))
        return std::nullopt;
    if (mask.is_constant()) {
        const float* added = mask.constant.data<float>();
        auto shows = [&](int64_t n, bool is_seen) {
            return is_seen ? added[n] == 0 : added[n] <= out_of_sight;
        };
        if (auto causal = causal_mask(mask.spec.shape, scores, shows)) return causal;
    }
    return AttentionMask{.added = id};
}

std::optional<AttentionMask> choosing_mask(const Tensor& mask, const Shape& scores, double instead,
                                           bool true_means_hidden) {
    if (!mask || mask.dtype() != DType::boolean || !(instead <= out_of_sight)) return std::nullopt;
    const bool* data = mask.data<bool>();
    return causal_mask(mask.shape(), scores,
                       [&](int64_t n, bool is_seen) { return data[n] == (is_seen != true_means_hidden); });
}

}  // namespace mge
