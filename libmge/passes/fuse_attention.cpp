// SPDX-License-Identifier: Apache-2.0
// softmax(s · q kᵀ + mask) v => attention(q, k, v, mask; scale = s), which has the scores of a block of
// queries in memory instead of all of them. Factors stand before the product or behind it. Where q, k and v
// are transpositions of tensors whose heads lie side by side, and one back is all that reads the result,
// attention reads and writes those. Keys and values whose heads are repeated for those of the queries are
// read as they were before.
//
// A constant mask that hides from each query what comes behind it, and nothing else, makes the attention
// causal, which computes no scores that nobody sees; so not even NaN comes from them. Models hide by
// infinity or by numbers that no score makes up for, added to the scores or put in their place.
//
// Of f32 alone, as in recognise_formulas, and where nobody else reads the scores; on GPUs where values will
// be stored as halves and NVIDIA's engines, which somebody has to measure, take them. A query that sees
// nothing has zeros of attention and NaN of a softmax; so a mask is a constant that leaves something to see
// for each, or made of finite numbers, unless weights that are NaN become zeros, as exporters write it.
// Products that may be computed in bf16 stay as they are.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/transpose.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr int rank = 4, head_axis = 1, row_axis = 2, column_axis = 3;
// A mask of no more hides as minus infinity does.
constexpr float out_of_sight = -1e9F;
using Pattern = std::array<int, rank>;
constexpr Pattern swaps_heads{0, 2, 1, 3}, swaps_columns{0, 1, 3, 2}, swaps_both{0, 2, 3, 1};

// An attention as a graph spells it, with heads first.
struct Spelled {
    ValueId q = no_value, k = no_value, v = no_value, mask = no_value;
    double scale = 1;
    bool is_k_turned = false;  // k is (N, S, H, E), of which the transposition is gone
    bool is_side_by_side = false;
    bool is_causal = false, is_from_end = false;
    NodeId last = -1;  // in whose place the operator comes
    std::vector<NodeId> nodes;
};

std::shared_ptr<const void> params_of(const Spelled& found) {
    return std::make_shared<const ops::AttentionParams>(
        ops::AttentionParams{.scale = found.scale,
                             .causal = found.is_causal,
                             .from_end = found.is_from_end,
                             .side_by_side = found.is_side_by_side});
}

// Whether a mask keeps the order of time: query i sees key j where j <= i, counted from the first of both or
// from the last. shows(n, true): element n says that a key is in sight; with false, that it is not.
template <class Shows>
bool keeps_order(const Shape& mask, const Shape& scores, Shows shows, Spelled& found) {
    if (scores.rank() != rank) return false;
    const int64_t queries = scores[row_axis], keys = scores[column_axis];
    // One row or column could stand for more of them at another shape.
    if (queries < 2 || keys < 2 || mask.rank() < 2 || mask[mask.rank() - 2] != queries ||
        mask[mask.rank() - 1] != keys)
        return false;
    for (bool from_end : {false, true}) {
        const int64_t more = from_end ? keys - queries : 0;
        bool fits = more >= 0;
        for (int64_t n = 0; fits && n < mask.numel(); ++n)
            fits = shows(n, n % keys <= n / keys % queries + more);
        if (!fits) continue;
        found.is_causal = true;
        found.is_from_end = from_end;
        return true;
    }
    return false;
}

// With tiles two products of bf16 are faster than attention in f32; by vectors they are not.
bool has_products_of_tiles(const PassOptions& options) {
    return options.precision != Precision::strict && cpu_isa() >= Isa::amx;
}

class Finder {
public:
    Finder(const Graph& graph, const PassOptions& options)
        : graph_(graph),
          options_(options),
          uses_(graph.use_counts()),
          shapes_(graph, options),
          readers_(graph.values().size(), -1),
          half_(options.select.profile ? stored_half(graph, options) : std::nullopt) {
        for (size_t i = 0; i < graph.nodes().size(); ++i)
            for (ValueId id : graph.node(NodeId(i)).inputs)
                if (id != no_value) readers_[size_t(id)] = NodeId(i);
    }

    // The one whose product with the values the node is.
    std::optional<Spelled> find(NodeId id) const {
        Spelled found{.last = id};
        if (!is_plain_product(id, false)) return std::nullopt;
        DeviceId place = running_place(graph_, graph_.node(id));
        if (place.is_host() ? has_products_of_tiles(options_) : !half_) return std::nullopt;
        found.v = graph_.node(id).inputs[1];
        if (!find_scores(graph_.node(id).inputs[0], found) || !fit_together(found)) return std::nullopt;
        put_side_by_side(found);
        share_heads(found);
        if (!place.is_host() && !has_engine(found, place)) return std::nullopt;
        return found;
    }

private:
    // A family of algorithms that computes it on halves.
    bool has_engine(const Spelled& found, DeviceId place) const {
        TensorSpecs inputs;
        for (ValueId id : {found.q, found.k, found.v, found.mask})
            if (id != no_value) inputs.push_back({*half_, spec(id).shape, {}});
        if (found.is_k_turned && !found.is_side_by_side) {
            auto& k = inputs[1].shape;
            std::swap(k[head_axis], k[row_axis]);
        }
        auto params = params_of(found);
        TensorSpecs outputs = ops::Attention::info.infer(params.get(), inputs);
        std::vector<const void*> constants(inputs.size());
        NodeProblem node(ops::Attention::info, params,
                         {std::move(inputs), std::move(outputs), std::move(constants), place, place},
                         options_.threads, options_.precision);
        auto problem = node.problem();
        return std::ranges::any_of(node.kernels(),
                                   [&](auto& a) { return a.candidates && a.supports(problem); });
    }
    const TensorSpec& spec(ValueId id) const { return graph_.value(id).spec; }
    // The node that makes a value, when it applies the operator; null otherwise.
    const Node* maker(ValueId id, const OpInfo& op) const {
        NodeId made_by = id == no_value ? NodeId(-1) : graph_.value(id).producer;
        return made_by >= 0 && graph_.node(made_by).op == &op ? &graph_.node(made_by) : nullptr;
    }
    // The same, of a value that nobody else reads.
    const Node* own_maker(ValueId id, const OpInfo& op) const {
        return id != no_value && uses_[size_t(id)] == 1 ? maker(id, op) : nullptr;
    }
    void take(const Node& node, Spelled& found) const {
        found.nodes.push_back(graph_.value(node.outputs[0]).producer);
    }

    // Of f32 and four axes, with nothing behind it.
    bool is_plain_product(NodeId id, bool may_transpose_b) const {
        auto& node = graph_.node(id);
        if (node.op != &ops::Matmul::info || node.inputs.size() != 2) return false;
        auto& p = node.as<ops::Matmul::Params>();
        auto fits = [&](ValueId value) {
            return spec(value).dtype == DType::f32 && spec(value).shape.is_known() &&
                   spec(value).shape.rank() == rank;
        };
        return !p.transpose_a && (may_transpose_b || !p.transpose_b) && p.activation == Activation::none &&
               fits(node.inputs[0]) && fits(node.inputs[1]) && fits(node.outputs[0]);
    }

    // A constant of one element.
    std::optional<double> number(ValueId id) const {
        Tensor t = constant_of(graph_, id);
        bool is_one = t && t.spec().numel() == 1 && t.dtype() == DType::f32;
        return is_one ? std::optional(double(*t.data<float>())) : std::nullopt;
    }
    // x of x · factor and x / divisor, as long as there are any.
    ValueId behind_factors(ValueId id, Spelled& found) const {
        for (;;) {
            const Node* node = own_maker(id, ops::Mul::info);
            bool is_quotient = !node;
            if (is_quotient) node = own_maker(id, ops::Div::info);
            if (!node) return id;
            size_t side = number(node->inputs[1]) || is_quotient ? 1 : 0;
            auto factor = number(node->inputs[side]);
            if (!factor || !(spec(node->inputs[1 - side]) == spec(id))) return id;
            found.scale *= is_quotient ? 1 / *factor : *factor;
            take(*node, found);
            id = node->inputs[1 - side];
        }
    }

    // w of where(isnan(w), 0, w); the value itself when it is none.
    ValueId behind_guard(ValueId weights, Spelled& found) const {
        const Node* where = own_maker(weights, ops::Where::info);
        const Node* is_nan = where ? own_maker(where->inputs[0], ops::IsNan::info) : nullptr;
        if (!is_nan || number(where->inputs[1]) != 0) return weights;
        ValueId guarded = where->inputs[2];
        if (is_nan->inputs[0] != guarded || uses_[size_t(guarded)] != 2) return weights;
        take(*where, found);
        take(*is_nan, found);
        return guarded;
    }

    // From the weights to q and k.
    bool find_scores(ValueId weights, Spelled& found) const {
        const ValueId guarded = behind_guard(weights, found);
        const bool is_guarded = guarded != weights;
        const Node* softmax =
            is_guarded ? maker(guarded, ops::Softmax::info) : own_maker(weights, ops::Softmax::info);
        if (!softmax) return false;
        auto& params = softmax->as<ops::Softmax::Params>();
        if (params.log || (params.axis != -1 && params.axis != rank - 1)) return false;
        take(*softmax, found);
        ValueId scores = behind_mask(softmax->inputs[0], is_guarded, found);
        if (scores == no_value) return false;
        const Node* product = own_maker(scores = behind_factors(scores, found), ops::Matmul::info);
        if (!product || !is_plain_product(graph_.value(scores).producer, true)) return false;
        take(*product, found);
        found.q = behind_factors(product->inputs[0], found);
        ValueId keys = behind_factors(product->inputs[1], found);
        return find_keys(keys, product->as<ops::Matmul::Params>().transpose_b, found) &&
               std::isfinite(found.scale) && found.scale != 0;
    }

    // Scores as they are before a mask; no_value: the operator has no such mask.
    ValueId behind_mask(ValueId scores, bool is_guarded, Spelled& found) const {
        if (const Node* choice = own_maker(scores, ops::Where::info)) return behind_choice(*choice, found);
        const Node* sum = own_maker(scores, ops::Add::info);
        if (!sum) return scores;
        const size_t side = mask_side(*sum, is_guarded);
        if (side > 1 || !shapes_.is_same_shape(scores, sum->inputs[1 - side])) return no_value;
        take(*sum, found);
        found.mask = sum->inputs[side];
        if (const Tensor mask = constant_of(graph_, found.mask)) {
            const float* added = mask.data<float>();
            auto shows = [&](int64_t n, bool is_seen) {
                return is_seen ? added[n] == 0 : added[n] <= out_of_sight;
            };
            if (keeps_order(mask.shape(), spec(scores).shape, shows, found)) found.mask = no_value;
        }
        return sum->inputs[1 - side];
    }
    // x of where(seen, x, number) and of where(hidden, number, x) that are causal.
    ValueId behind_choice(const Node& choice, Spelled& found) const {
        const Tensor mask = constant_of(graph_, choice.inputs[0]);
        if (!mask || mask.dtype() != DType::boolean) return no_value;
        const bool* data = mask.data<bool>();
        for (size_t side : {1, 2}) {
            const ValueId x = choice.inputs[side];
            const double instead = number(choice.inputs[3 - side]).value_or(0);
            if (!(instead <= out_of_sight) || !shapes_.is_same_shape(x, choice.outputs[0])) continue;
            auto shows = [&](int64_t n, bool is_seen) { return data[n] == (is_seen == (side == 1)); };
            if (!keeps_order(mask.shape(), spec(x).shape, shows, found)) continue;
            take(choice, found);
            return x;
        }
        return no_value;
    }

    // Which operand of a sum is the mask; 2: none may be.
    size_t mask_side(const Node& sum, bool is_guarded) const {
        for (size_t side : {1, 0}) {
            auto& mask = spec(sum.inputs[side]);
            if (mask.dtype != DType::f32 || !mask.shape.is_known() || mask.shape.rank() > rank) continue;
            Spelled factors;
            ValueId other = behind_factors(sum.inputs[1 - side], factors);
            bool are_scores = own_maker(other, ops::Matmul::info) != nullptr;
            if (are_scores && (is_guarded || leaves_something(constant_of(graph_, sum.inputs[side])) ||
                               is_finite(sum.inputs[side])))
                return side;
        }
        return 2;
    }
    // All its numbers are finite, as where a mask hides by the lowest one.
    bool is_finite(ValueId id) const {
        const Value& value = graph_.value(id);
        if (const Tensor& t = value.constant) {
            const float* data = t.dtype() == DType::f32 ? t.data<float>() : nullptr;
            return data &&
                   std::all_of(data, data + t.spec().numel(), [](float x) { return std::isfinite(x); });
        }
        if (value.producer < 0) return false;
        auto& node = graph_.node(value.producer);
        if (node.op == &ops::Where::info) return is_finite(node.inputs[1]) && is_finite(node.inputs[2]);
        const bool moves =
            node.op->traits.view || node.op == &ops::BroadcastTo::info || node.op == &ops::Slice::info;
        return moves && is_finite(node.inputs[0]);
    }
    // Some number above minus infinity in each row.
    static bool leaves_something(const Tensor& mask) {
        if (!mask) return false;
        auto& shape = mask.spec().shape;
        const int64_t row = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
        const float* data = mask.data<float>();
        auto is_out_of_sight = [](float x) { return x == -std::numeric_limits<float>::infinity(); };
        for (int64_t i = 0; i < mask.spec().numel(); i += row)
            if (std::all_of(data + i, data + i + row, is_out_of_sight)) return false;
        return true;
    }

    bool find_keys(ValueId keys, bool are_rows, Spelled& found) const {
        if (are_rows) {
            found.k = keys;
            return true;
        }
        found.k = behind_transpose(keys, swaps_columns, found);
        if (found.k == no_value) found.k = behind_joined_transpose(keys, found);
        if (found.k != no_value) return true;
        found.k = behind_transpose(keys, swaps_both, found);
        return found.is_k_turned = found.k != no_value;
    }

    // x of reshape(transpose(reshape(x))), where only the transposition has the first two axes as one.
    ValueId behind_joined_transpose(ValueId id, Spelled& found) const {
        const Node* split = own_maker(id, ops::Reshape::info);
        if (!split) return no_value;
        Spelled inside;
        const Node* joined =
            maker(behind_transpose(split->inputs[0], std::array{0, 2, 1}, inside), ops::Reshape::info);
        if (!joined || spec(joined->inputs[0]).shape.rank() != rank) return no_value;
        const ValueId rows = joined->inputs[0], rows_joined = joined->outputs[0];
        auto is_same = [&](int axis, ValueId other, int other_axis) {
            return shapes_.is_same_extent(rows, axis, other, other_axis);
        };
        if (!is_same(0, id, 0) || !is_same(1, id, 1) || !is_same(2, id, 3) || !is_same(3, id, 2) ||
            !is_same(2, rows_joined, 1) || !is_same(3, rows_joined, 2))
            return no_value;
        take(*split, found);
        found.nodes.insert(found.nodes.end(), inside.nodes.begin(), inside.nodes.end());
        return rows;
    }

    // x of a transposition of x by the pattern; no_value when the value is none.
    ValueId behind_transpose(ValueId id, std::span<const int> pattern, Spelled& found) const {
        const Node* node = maker(id, ops::Transpose::info);
        if (!node ||
            !std::ranges::equal(
                ops::transpose_axes(node->as<ops::Transpose::Params>(), spec(id).shape.rank()), pattern))
            return no_value;
        if (uses_[size_t(id)] == 1) take(*node, found);
        return node->inputs[0];
    }

    // Equal batches and heads, which a product would have broadcast.
    bool fit_together(const Spelled& found) const {
        const int head = found.is_k_turned ? row_axis : head_axis;
        auto is_same = [&](ValueId other, int axis, int axis_of_q) {
            return shapes_.is_same_extent(other, axis, found.q, axis_of_q);
        };
        return is_same(found.k, 0, 0) && is_same(found.k, head, head_axis) && is_same(found.v, 0, 0) &&
               is_same(found.v, head_axis, head_axis);
    }

    // Where that saves every transposition.
    void put_side_by_side(Spelled& found) const {
        ValueId y = graph_.node(found.last).outputs[0];
        NodeId reader = readers_[size_t(y)];
        if (uses_[size_t(y)] != 1 || reader < 0) return;
        Spelled turned = found;
        ValueId result = graph_.node(reader).outputs[0];
        if (behind_transpose(result, swaps_heads, turned) != y) return;
        turned.q = behind_transpose(found.q, swaps_heads, turned);
        turned.v = behind_transpose(found.v, swaps_heads, turned);
        if (!found.is_k_turned) turned.k = behind_transpose(found.k, swaps_heads, turned);
        if (turned.q == no_value || turned.k == no_value || turned.v == no_value) return;
        found = std::move(turned);
        found.is_side_by_side = true;
        found.nodes.push_back(found.last);
        found.last = reader;
    }

    // The view of another value that a value is; null when it is none or others read it.
    const Node* own_view(ValueId id) const {
        const NodeId made_by =
            id == no_value || uses_[size_t(id)] != 1 ? NodeId(-1) : graph_.value(id).producer;
        if (made_by < 0) return nullptr;
        auto& traits = graph_.node(made_by).op->traits;
        return traits.view && !traits.once ? &graph_.node(made_by) : nullptr;
    }

    // Of x (N, H, …) the views (N, H, 1, …), repeated along the new axis, and (N, H · times, …); `head` is
    // the axis of H.
    bool is_repetition(ValueId x, ValueId split, ValueId repeated, ValueId joined, int head) const {
        auto &of_split = spec(split).shape, &of_repeated = spec(repeated).shape;
        if (spec(x).shape.rank() != rank || of_split.rank() != rank + 1 || of_repeated.rank() != rank + 1)
            return false;
        for (int axis = 0; axis < rank; ++axis) {
            const int behind = axis > head ? axis + 1 : axis;
            if (!shapes_.is_same_extent(x, axis, split, behind) ||
                !shapes_.is_same_extent(x, axis, repeated, behind) ||
                (axis != head && !shapes_.is_same_extent(x, axis, joined, axis)))
                return false;
        }
        return of_split[head + 1] == 1 &&
               of_repeated[head] * of_repeated[head + 1] == spec(joined).shape[head];
    }
    ValueId behind_repetition(ValueId id, int head, Spelled& found) const {
        const Node* joined = own_view(id);
        const Node* repeated = joined ? own_maker(joined->inputs[0], ops::BroadcastTo::info) : nullptr;
        const Node* split = repeated ? own_view(repeated->inputs[0]) : nullptr;
        if (!split || !is_repetition(split->inputs[0], split->outputs[0], repeated->outputs[0], id, head))
            return no_value;
        for (auto* node : {joined, repeated, split}) take(*node, found);
        return split->inputs[0];
    }
    void share_heads(Spelled& found) const {
        const int of_k = found.is_side_by_side || found.is_k_turned ? row_axis : head_axis;
        const int of_v = found.is_side_by_side ? row_axis : head_axis;
        Spelled shared = found;
        shared.k = behind_repetition(found.k, of_k, shared);
        shared.v = behind_repetition(found.v, of_v, shared);
        if (shared.k == no_value || shared.v == no_value) return;
        if (shapes_.is_same_extent(shared.k, of_k, shared.v, of_v)) found = std::move(shared);
    }

    const Graph& graph_;
    const PassOptions& options_;
    const std::vector<int> uses_;
    const OtherShapes shapes_;
    std::vector<NodeId> readers_;      // of each value the last
    const std::optional<DType> half_;  // for GPUs
};

ValueId turned_keys(Rewrite& rewrite, const Spelled& found) {
    auto& source = rewrite.source();
    ops::Transpose::Params params{.pattern = IntList(swaps_heads.begin(), swaps_heads.end())};
    NodeId id = rewrite.target().add_node(
        ops::Transpose::info, std::make_shared<const ops::Transpose::Params>(std::move(params)),
        {rewrite(found.k)}, {}, nullptr, &source.place(source.node(found.last)));
    return rewrite.target().node(id).outputs[0];
}

void emit_attention(Rewrite& rewrite, const Spelled& found) {
    auto& last = rewrite.source().node(found.last);
    const bool is_turned = found.is_k_turned && !found.is_side_by_side;
    std::vector<ValueId> inputs{rewrite(found.q), is_turned ? turned_keys(rewrite, found) : rewrite(found.k),
                                rewrite(found.v)};
    if (found.mask != no_value) inputs.push_back(rewrite(found.mask));
    rewrite.emit(found.last, ops::Attention::info, params_of(found), std::move(inputs), last.name);
    for (NodeId id : found.nodes) rewrite.absorb(id, rewrite(last.outputs[0]));
}

}  // namespace

Graph fuse_attention(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&ops::Softmax::info})) return graph;
    const Finder finder(graph, options);
    std::map<NodeId, Spelled> found;  // by the last node
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (auto one = finder.find(NodeId(i))) found.emplace(one->last, std::move(*one));
    if (found.empty()) return graph;
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto it = found.find(NodeId(i));
        if (it == found.end())
            rewrite.copy(NodeId(i));
        else
            emit_attention(rewrite, it->second);
    }
    return remove_dead_nodes(rewrite.finish(), options);
}

}  // namespace mge
