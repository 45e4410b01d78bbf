// SPDX-License-Identifier: Apache-2.0
// softmax(s · q kᵀ + mask) v => attention(q, k, v, mask; scale = s), which keeps the scores of a block of
// queries in memory instead of all of them. Factors may be before or after the product. If q, k and v are
// transpositions of tensors with contiguous heads, and the result is only read by the inverse transposition,
// attention reads and writes those tensors. Keys and values with heads repeated for the queries are read
// without the repetition. attention_mask.h defines the meaning of masks.
//
// Only for f32, as in recognise_formulas, and if the scores have no other readers; on GPUs if values will be
// stored as halves and NVIDIA's engines, which must be measured, support them.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "libmge/graph/match.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/passes/attention_mask.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using match::any, match::capture, match::either_order, match::made, match::Match, match::New, match::node,
    match::number, match::one_of, match::op, match::op_if, match::Pattern, match::scaled, match::shared,
    match::used_once;

constexpr int rank = 4, head_axis = 1, row_axis = 2;
constexpr std::array swaps_heads{0, 2, 1, 3}, swaps_columns{0, 1, 3, 2}, swaps_both{0, 2, 3, 1};
constexpr std::array swaps_rows_of_joined{0, 2, 1};

// A node that is taken over unless others read its result.
Pattern taken_if_alone(const Pattern& p) { return one_of({used_once(p), shared(p)}); }

Pattern transposed(std::span<const int> axes, Pattern p) {
    auto has_axes = [axes](const Match& m, const Node& node) {
        auto& shape = m.spec(node.inputs[0]).shape;
        return shape.is_known() &&
               std::ranges::equal(ops::transpose_axes(node.as<ops::Transpose::Params>(), shape.rank()), axes);
    };
    return op_if<ops::Transpose>(has_axes, std::move(p));
}

// A product in f32 and four axes, without bias or activation.
Pattern product_of(Pattern a, Pattern b, bool transpose_b) {
    auto is_plain = [=](const Match& m, const Node& node) {
        auto& p = node.as<ops::Matmul::Params>();
        auto fits = [&](ValueId value) {
            auto& spec = m.spec(value);
            return spec.dtype == DType::f32 && spec.shape.is_known() && spec.shape.rank() == rank;
        };
        return node.inputs.size() == 2 && !p.transpose_a && p.transpose_b == transpose_b &&
               p.activation == Activation::none && fits(node.inputs[0]) && fits(node.inputs[1]) &&
               fits(node.outputs[0]);
    };
    return op_if<ops::Matmul>(is_plain, std::move(a), std::move(b));
}

bool is_view_of_memory(const Match&, const Node& node) {
    return node.op->traits.view && !node.op->traits.once;
}
// x (N, H, …) viewed as (N, H, 1, …), repeated along the new axis, and viewed as (N, H · times, …).
Pattern repeated(const std::string& x) {
    auto split = capture(x + " split", node(is_view_of_memory, {any(x)}));
    auto repetition = capture(x + " repeated", op<ops::BroadcastTo>(split));
    return capture(x + " joined", node(is_view_of_memory, {repetition}));
}

// One form of an attention. Captured with heads first: Q, K and V; as the operator reads them: q, k and v.
struct Spelling {
    bool is_side_by_side, repeats_heads;

    Pattern heads_first(Pattern p) const {
        return is_side_by_side ? taken_if_alone(transposed(swaps_heads, std::move(p))) : p;
    }
    Pattern operand(const std::string& name) const { return repeats_heads ? repeated(name) : any(name); }

    // x of reshape(transpose(reshape(x))), where only the transposition has the first two axes as one.
    static Pattern joined_transpose(Pattern p) {
        auto joined = capture("rows joined", op<ops::Reshape>(std::move(p)));
        auto turned = taken_if_alone(transposed(swaps_rows_of_joined, shared(joined)));
        return capture("columns split", op<ops::Reshape>(turned));
    }
    Pattern scores() const {
        const Pattern q = scaled("scale", capture("Q", heads_first(any("q"))));
        const Pattern rows = capture("K", heads_first(operand("k")));
        // K as (N, S, H, E), without the transposition.
        auto turned = capture("turned", taken_if_alone(transposed(swaps_both, capture("K", operand("k")))));
        auto columns =
            one_of({taken_if_alone(transposed(swaps_columns, rows)), joined_transpose(rows), turned});
        return capture("scores", scaled("scale", one_of({product_of(q, scaled("scale", rows), true),
                                                         product_of(q, scaled("scale", columns), false)})));
    }
    Pattern masked_scores() const {
        const Pattern scores = this->scores(), instead = number("instead");
        auto sum = either_order<ops::Add>(scores, any("mask"));
        auto choice = one_of({op<ops::Where>(match::constant("seen"), scores, instead),
                              op<ops::Where>(match::constant("hidden"), instead, scores)});
        return capture("masked", one_of({sum, choice, scores}));
    }
    Pattern attention() const {
        auto is_along_rows = [](const Match&, const Node& node) {
            auto& params = node.as<ops::Softmax::Params>();
            return !params.log && (params.axis == -1 || params.axis == rank - 1);
        };
        auto softmax = op_if<ops::Softmax>(is_along_rows, masked_scores());
        // `where(isnan(w), 0, w)`
        auto guarded =
            op<ops::Where>(op<ops::IsNan>(capture("weights", softmax)), number(0.), any("weights"));
        auto weights = one_of({capture("guarded", guarded), softmax});
        auto result = product_of(weights, capture("V", heads_first(operand("v"))), false);
        return is_side_by_side ? transposed(swaps_heads, result) : result;
    }
};

struct Surroundings {
    const PassOptions& options;
    OtherShapes shapes;
    std::optional<DType> half;  // for GPUs
};

std::optional<AttentionMask> mask_of(const Match& m, const OtherShapes& shapes) {
    auto& scores = m.spec("scores").shape;
    if (m["masked"] != m["scores"] && !shapes.is_same_shape(m["masked"], m["scores"])) return std::nullopt;
    if (m.has("mask")) return added_mask(m.graph(), m["mask"], scores, m.has("guarded"));
    if (m["masked"] == m["scores"]) return AttentionMask{};
    return choosing_mask(m.constant(m.has("seen") ? "seen" : "hidden"), scores, m.number("instead"),
                         m.has("hidden"));
}

// Equal batches and heads, which a product would have broadcast.
bool fit_together(const Match& m, const OtherShapes& shapes) {
    auto is_same = [&](const char* other, int axis, int axis_of_q) {
        return shapes.is_same_extent(m[other], axis, m["Q"], axis_of_q);
    };
    return is_same("K", 0, 0) && is_same("K", m.has("turned") ? row_axis : head_axis, head_axis) &&
           is_same("V", 0, 0) && is_same("V", head_axis, head_axis);
}

// The first two axes are one between rows and columns.
bool is_transposed_as_joined(const Match& m, const OtherShapes& shapes) {
    if (!m.has("rows joined")) return true;
    const ValueId rows = m["K"], joined = m["rows joined"], columns = m["columns split"];
    auto is_same = [&](int axis, ValueId other, int other_axis) {
        return shapes.is_same_extent(rows, axis, other, other_axis);
    };
    return m.spec(rows).shape.rank() == rank && is_same(0, columns, 0) && is_same(1, columns, 1) &&
           is_same(2, columns, 3) && is_same(3, columns, 2) && is_same(2, joined, 1) && is_same(3, joined, 2);
}

// `head` is the axis of H.
bool is_repetition(const Match& m, const std::string& x, int head, const OtherShapes& shapes) {
    const ValueId from = m[x], split = m[x + " split"], repeated = m[x + " repeated"], to = m[x + " joined"];
    auto &of_split = m.spec(split).shape, &of_repeated = m.spec(repeated).shape;
    if (m.spec(from).shape.rank() != rank || of_split.rank() != rank + 1 || of_repeated.rank() != rank + 1)
        return false;
    for (int axis = 0; axis < rank; ++axis) {
        const int behind = axis > head ? axis + 1 : axis;
        if (!shapes.is_same_extent(from, axis, split, behind) ||
            !shapes.is_same_extent(from, axis, repeated, behind) ||
            (axis != head && !shapes.is_same_extent(from, axis, to, axis)))
            return false;
    }
    return of_split[head + 1] == 1 && of_repeated[head] * of_repeated[head + 1] == m.spec(to).shape[head];
}
bool repeats_heads_alike(const Match& m, bool is_side_by_side, const OtherShapes& shapes) {
    if (!m.has("k joined")) return true;
    const int of_k = is_side_by_side || m.has("turned") ? row_axis : head_axis;
    const int of_v = is_side_by_side ? row_axis : head_axis;
    return is_repetition(m, "k", of_k, shapes) && is_repetition(m, "v", of_v, shapes) &&
           shapes.is_same_extent(m["k"], of_k, m["v"], of_v);
}

// True if a family of algorithms computes it on halves.
bool has_engine(const ops::AttentionParams& params, TensorSpecs inputs, DeviceId place,
                const Surroundings& surroundings) {
    for (auto& spec : inputs) spec = {*surroundings.half, spec.shape, {}};
    auto shared_params = std::make_shared<const ops::AttentionParams>(params);
    TensorSpecs outputs = ops::Attention::info.infer(shared_params.get(), inputs);
    std::vector<const void*> constants(inputs.size());
    auto& options = surroundings.options;
    NodeProblem node(ops::Attention::info, shared_params,
                     {std::move(inputs), std::move(outputs), std::move(constants), place, place},
                     options.threads, options.precision);
    auto problem = node.problem();
    return std::ranges::any_of(node.kernels(), [&](auto& a) { return a.candidates && a.supports(problem); });
}

std::optional<New> as_attention(const Match& m, const Surroundings& surroundings) {
    auto& shapes = surroundings.shapes;
    const DeviceId place = running_place(m.graph(), m.root());
    if (!place.is_host() && !surroundings.half) return std::nullopt;
    const bool is_side_by_side = m.root().op == &ops::Transpose::info;
    const double scale = m.number("scale");
    if (!std::isfinite(scale) || scale == 0 || !fit_together(m, shapes) ||
        !is_transposed_as_joined(m, shapes) || !repeats_heads_alike(m, is_side_by_side, shapes))
        return std::nullopt;
    auto mask = mask_of(m, shapes);
    if (!mask) return std::nullopt;
    const ops::AttentionParams params{.scale = scale,
                                      .causal = mask->is_causal,
                                      .from_end = mask->is_from_end,
                                      .side_by_side = is_side_by_side};
    TensorSpecs specs{m.spec("q"), m.spec("k"), m.spec("v")};
    std::vector<New> inputs{m["q"], m["k"], m["v"]};
    if (m.has("turned") && !is_side_by_side) {
        inputs[1] =
            made<ops::Transpose>({.pattern = IntList(swaps_heads.begin(), swaps_heads.end())}, {m["k"]});
        std::swap(specs[1].shape[head_axis], specs[1].shape[row_axis]);
    }
    if (mask->added != no_value) {
        specs.push_back(m.spec(mask->added));
        inputs.push_back(mask->added);
    }
    if (!place.is_host() && !has_engine(params, std::move(specs), place, surroundings)) return std::nullopt;
    return made<ops::Attention>(params, std::move(inputs)).named(m.root().name);
}

}  // namespace

Graph fuse_attention(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&ops::Softmax::info})) return graph;
    // The first spellings take in more.
    static const match::Table<Surroundings> rules{{Spelling{true, true}.attention(), as_attention},
                                                  {Spelling{true, false}.attention(), as_attention},
                                                  {Spelling{false, true}.attention(), as_attention},
                                                  {Spelling{false, false}.attention(), as_attention}};
    const Surroundings surroundings{
        options, {graph, options}, options.select.profile ? stored_half(graph, options) : std::nullopt};
    return remove_dead_nodes(match::replace_matches(std::move(graph), rules, surroundings), options);
}

}  // namespace mge
