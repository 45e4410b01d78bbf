// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/attention/attention_blocks.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/attention/attention_plan.h"
#include "libmge/kernel/cpu/attention/attention_scores-inl.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/panel_tiles-inl.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/cpu/rows/round_half-inl.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t panel = vector_units.panel;

template <class Q>
constexpr AttentionUnits units = vector_units;

// --- packing ---

// Rows [first, first + panel) of a matrix become columns, zeros behind the last row.
void pack_columns(const float* rows, int64_t row_step, int64_t count, int64_t width, float* to) {
    if (count < panel) std::fill_n(to, panel * width, 0.0F);
    transpose_rows(rows, row_step, count, width, to, panel);
}
// The same rows as rows of panels of columns, which are `panel_step` apart.
void pack_rows(const float* rows, int64_t row_step, int64_t count, int64_t width, float* to,
               int64_t panel_step) {
    for (int64_t c = 0; c < width; c += panel, to += panel_step) {
        const int64_t columns = std::min(panel, width - c);
        if (count < panel || columns < panel) std::fill_n(to, panel * panel, 0.0F);
        for (int64_t r = 0; r < count; ++r) std::copy_n(rows + r * row_step + c, columns, to + r * panel);
    }
}

// Rows of a matrix.
template <class Q>
struct FactorRows {
    const Q* first;
    int64_t step;
};

#if HWY_TARGET <= HWY_AVX3  // as processors with tiles have

template <>
constexpr AttentionUnits units<BFloat16> = tile_units;

void copy_halves(const BFloat16* from, int64_t n, BFloat16* to) { std::copy_n(from, n, to); }
void copy_halves(const float* from, int64_t n, BFloat16* to) { floats_to_halves(from, to, n); }

// A square of a matrix, copied if it is not complete: then there are zeros behind the last row and column.
struct Square {
    static constexpr int64_t side = tile_units.panel, pairs = side / 2;
    static_assert(side == tile_units.depth);
    FactorRows<BFloat16> rows;
    alignas(64) uint16_t copy[side * side];

    template <class V>
    Square(const V* from, int64_t step, int64_t count, int64_t width) {
        if constexpr (std::is_same_v<V, BFloat16>) {
            rows = {from, step};
            if (count == side && width >= side) return;
        }
        auto* halves = reinterpret_cast<BFloat16*>(copy);
        std::fill_n(copy, side * side, uint16_t(0));
        for (int64_t r = 0; r < count; ++r)
            copy_halves(from + r * step, std::min(side, width), halves + r * side);
        rows = {halves, side};
    }
    const uint16_t* row(int64_t r) const {
        return reinterpret_cast<const uint16_t*>(rows.first + r * rows.step);
    }

    // Each pair of neighbours in a row becomes a word of a column.
    void transpose_pairs(BFloat16* to) const {
        const hn::CappedTag<float, pairs> f;
        auto* column = reinterpret_cast<float*>(to);
        auto load = [&](int64_t r) HWY_ATTR { return hn::LoadU(f, reinterpret_cast<const float*>(row(r))); };
        for (int64_t r = 0; r < side; r += 4) {
            const auto a = load(r), b = load(r + 1), c = load(r + 2), d = load(r + 3);
            const auto ac = hn::InterleaveLower(f, a, c), bd = hn::InterleaveLower(f, b, d);
            const auto ac_upper = hn::InterleaveUpper(f, a, c), bd_upper = hn::InterleaveUpper(f, b, d);
            store_blocks(hn::InterleaveLower(f, ac, bd), column + r);
            store_blocks(hn::InterleaveUpper(f, ac, bd), column + r + side);
            store_blocks(hn::InterleaveLower(f, ac_upper, bd_upper), column + r + 2 * side);
            store_blocks(hn::InterleaveUpper(f, ac_upper, bd_upper), column + r + 3 * side);
        }
    }
    // Pairs of rows become rows of pairs.
    void interleave_rows(BFloat16* to) const {
        const hn::CappedTag<uint32_t, pairs> words;
        const hn::Rebind<uint16_t, decltype(words)> shorts;
        auto* pairs_of_rows = reinterpret_cast<uint32_t*>(to);
        for (int64_t r = 0; r < side; r += 2, pairs_of_rows += side)
            for (int64_t c = 0; c < side; c += pairs) {
                const auto first = hn::PromoteTo(words, hn::LoadU(shorts, row(r) + c));
                const auto second = hn::PromoteTo(words, hn::LoadU(shorts, row(r + 1) + c));
                hn::StoreU(hn::Or(first, hn::ShiftLeft<16>(second)), words, pairs_of_rows + c);
            }
    }

private:
    // Four words each, of every fourth column.
    template <class Vector>
    static void store_blocks(Vector x, float* to) {
        const hn::CappedTag<float, pairs> f;
        const hn::Half<decltype(f)> half;
        const hn::Half<decltype(half)> quarter;
        const auto lower = hn::LowerHalf(half, x), upper = hn::UpperHalf(half, x);
        hn::StoreU(hn::LowerHalf(quarter, lower), quarter, to);
        hn::StoreU(hn::UpperHalf(quarter, lower), quarter, to + 4 * side);
        hn::StoreU(hn::LowerHalf(quarter, upper), quarter, to + 8 * side);
        hn::StoreU(hn::UpperHalf(quarter, upper), quarter, to + 12 * side);
    }
};

void pack_columns(const BFloat16* rows, int64_t row_step, int64_t count, int64_t width, BFloat16* to) {
    for (int64_t k = 0; k < width; k += Square::side, to += Square::side * Square::side)
        Square(rows + k, row_step, count, width - k).transpose_pairs(to);
}
template <class V>
void pack_rows(const V* rows, int64_t row_step, int64_t count, int64_t width, BFloat16* to,
               int64_t panel_step) {
    for (int64_t c = 0; c < width; c += Square::side, to += panel_step)
        Square(rows + c, row_step, count, width - c).interleave_rows(to);
}

#endif

template <class Q, class V>
void pack(const AttentionShape& s, const AttentionOperands<Q, V>& d, int64_t first, int64_t last) {
    constexpr AttentionUnits u = units<Q>;
    const PackedHead packed(s, u);
    const int64_t panels = packed.rows / u.panel;
    for (int64_t i = first; i < last; ++i) {
        const int64_t item = i / panels, row = i % panels * u.panel, count = std::min(u.panel, s.keys - row);
        const int64_t batch = item / s.shared_heads, head = item % s.shared_heads;
        Q* to = d.packed + item * packed.elements();
        pack_columns(d.k + batch * s.k.batch + head * s.k.head + row * s.k.row, s.k.row, count, s.width,
                     to + row * u.in_steps(s.width));
        pack_rows(d.v + batch * s.v.batch + head * s.v.head + row * s.v.row, s.v.row, count, s.value_width,
                  to + packed.keys + row * u.panel, packed.rows * u.panel);
    }
}

// --- products ---

FactorRows<float> query_rows(const AttentionShape& s, const float* q, int64_t, float*) {
    return {q, s.q.row};
}
// Rows [first, last) of y start with or get a times a panel.
void add_product(const FactorRows<float>& a, const float* b, int64_t depth, int64_t first, int64_t last,
                 float* y, int64_t y_step, bool is_first) {
    panels::add_panel({a.first, a.step, b, y, y_step}, first, last, depth, panel, is_first);
}

#if HWY_TARGET <= HWY_AVX3

// Copied unless they are whole tiles: then there are zeros behind the last row and column.
FactorRows<BFloat16> query_rows(const AttentionShape& s, const BFloat16* q, int64_t count, float* scratch) {
    const int64_t width = tile_units.in_steps(s.width);
    if (width == s.width && tile_units.in_tiles(count) == count) return {q, s.q.row};
    auto* to = reinterpret_cast<BFloat16*>(scratch);
    std::fill_n(to, tile_units.in_tiles(count) * width, BFloat16());
    for (int64_t r = 0; r < count; ++r) std::copy_n(q + r * s.q.row, s.width, to + r * width);
    return {to, width};
}
// The tiles with these rows.
void add_product(const FactorRows<BFloat16>& a, const BFloat16* b, int64_t depth, int64_t first, int64_t last,
                 float* y, int64_t y_step, bool is_first) {
    auto* x = reinterpret_cast<const uint16_t*>(a.first);
    for (int64_t r = first / tile_rows * tile_rows; r < last; r += 2 * tile_rows)
        add_bf16({x + r * a.step, a.step, tile_units.in_steps(depth), reinterpret_cast<const uint16_t*>(b),
                  y + r * y_step, y_step, last - r > tile_rows},
                 is_first);
}

#endif

// --- forward ---

HWY_INLINE void store(Simd x, float* to) { x.store(to); }
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE void store(Simd x, BFloat16* to) { store_rounded(F32(), x.v, to); }
#endif

template <class V>
void scale_row(const float* x, V* y, int64_t n, float factor) {
    const int64_t lanes = int64_t(simd_lanes());
    const Simd by = Simd::fill(factor);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(Simd::load(x + i) * by, y + i);
    for (; i < n; ++i) y[i] = V(x[i] * factor);
}

// A block of queries of one head.
struct Block {
    int64_t batch, head, first, count;
};

// The number of first keys that contain all that the queries see. Exporters write causal masks as sums. A
// query from which the mask hides every key weighs all of them.
int64_t keys_seen(const AttentionShape& s, const float* mask, const Block& b) {
    const int64_t all = visible_keys(s, b.first + b.count - 1);
    if (!mask || s.mask.key != 1) return all;
    int64_t seen = 0;
    for (int64_t r = b.count; r-- > 0;) {
        const float* row = mask_row(s, mask, b.batch, b.head, b.first + r, 0).first;
        seen = end_of_visible(row, seen, all);
        const int64_t own = std::min(seen, visible_keys(s, b.first + r));
        if (std::all_of(row, row + own, [](float value) { return value <= hides; })) return all;
    }
    return seen;
}

struct Sums {
    float top[most_queries], sum[most_queries];
    float* values;  // rows of value_width in whole panels
};

#if HWY_TARGET <= HWY_AVX3

// A NaN may be lost in a weight, but not in the sum.
HWY_INLINE float exponentials(const float* scores, int64_t padded, float top, BFloat16* weights) {
    const hn::Repartition<uint32_t, F32> words;
    const hn::Repartition<uint16_t, F32> shorts;
    const int64_t lanes = int64_t(simd_lanes());
    const Simd shift = Simd::fill(top);
    const auto half = hn::Set(words, 0x8000);
    auto rounded = [&](Simd x)
                       HWY_ATTR { return hn::BitCast(shorts, hn::Add(hn::BitCast(words, x.v), half)); };
    Simd sum = Simd::fill(0), other = sum;
    auto* to = reinterpret_cast<uint16_t*>(weights);
    for (int64_t i = 0; i < padded; i += 2 * lanes) {
        const Simd a = weight_of(Simd::load(scores + i) - shift);
        const Simd b = weight_of(Simd::load(scores + i + lanes) - shift);
        hn::StoreU(hn::ConcatOdd(shorts, rounded(b), rounded(a)), shorts, to + i);
        sum = sum + a;
        other = other + b;
    }
    return hn::GetLane(hn::SumOfLanes(F32(), (sum + other).v));
}

#endif

// Converts the scores of a block of keys to weights, and rescales the current sums accordingly.
template <class Q>
void update(const AttentionShape& s, const float* mask, const Block& b, int64_t key, int64_t count,
            float* scores, int64_t row_step, Sums& sums) {
    const int64_t padded = units<Q>.in_panels(count), width = units<Q>.in_panels(s.value_width);
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t query = b.first + r;
        const int64_t seen = std::clamp<int64_t>(visible_keys(s, query) - key, 0, count);
        float* row = scores + r * row_step;
        float top = finish_scores(row, seen, padded, s.scale, mask_row(s, mask, b.batch, b.head, query, key));
        top = std::max(top, sums.top[r]);
        // For a query that has not seen any key, all differences are minus infinity.
        const float shift = top == -infinite ? 0 : top;
        const float sum = exponentials(row, padded, shift, reinterpret_cast<Q*>(row));
        if (key > 0) {
            const float factor = std::exp(sums.top[r] - shift);
            if (factor != 1) scale_row(sums.values + r * width, sums.values + r * width, width, factor);
            sums.sum[r] *= factor;
        }
        sums.sum[r] += sum;
        sums.top[r] = top;
    }
}

template <class Q, class V>
void store_block(const AttentionShape& s, const AttentionOperands<Q, V>& d, const Block& b,
                 const Sums& sums) {
    const int64_t width = units<Q>.in_panels(s.value_width);
    V* y = d.y + b.batch * s.y.batch + b.head * s.y.head + b.first * s.y.row;
    float* log_sum_exp = d.log_sum_exp + (b.batch * s.heads + b.head) * s.queries + b.first;
    for (int64_t r = 0; r < b.count; ++r) {
        const bool is_blind = sums.sum[r] == 0;
        scale_row(sums.values + r * width, y + r * s.y.row, s.value_width, is_blind ? 0 : 1 / sums.sum[r]);
        log_sum_exp[r] = is_blind ? infinite : sums.top[r] + std::log(sums.sum[r]);
    }
}

// Queries whose sums of values are computed together when they see different numbers of keys: some tiles.
template <class Q>
constexpr int64_t causal_rows = std::max<int64_t>(16, 2 * units<Q>.rows);

// The first query of a block that sees a key.
int64_t first_query_that_sees(const AttentionShape& s, const Block& b, int64_t key) {
    return s.is_causal ? std::clamp<int64_t>(key - s.first_visible + 1 - b.first, 0, b.count) : 0;
}

// The keys visible to any query of the block, in panels.
template <class Q>
void add_scores(const AttentionShape& s, const Block& b, const FactorRows<Q>& q, const Q* keys, int64_t key,
                int64_t count, float* scores, int64_t row_step) {
    for (int64_t c = 0; c < count; c += units<Q>.panel)
        add_product(q, keys + (key + c) * units<Q>.in_steps(s.width), s.width,
                    first_query_that_sees(s, b, key + c), b.count, scores + c, row_step, true);
}

// `values`: those of the block's first key, in panels `panel_step` apart.
template <class Q>
void add_values(const AttentionShape& s, const Block& b, const Q* values, int64_t panel_step, int64_t key,
                int64_t count, const FactorRows<Q>& weights, float* sums) {
    constexpr int64_t columns = units<Q>.panel;
    const int64_t width = units<Q>.in_panels(s.value_width), rows = s.is_causal ? causal_rows<Q> : b.count;
    for (int64_t c = 0; c < width; c += columns)
        for (int64_t r = 0; r < b.count; r += rows) {
            const int64_t end = std::min(r + rows, b.count), seen = visible_keys(s, b.first + end - 1) - key;
            if (seen <= 0) continue;
            add_product(weights, values + c / columns * panel_step, std::min(seen, count), r, end, sums + c,
                        width, key == 0);
        }
}

template <class Q, class V>
void attend_block(const AttentionShape& s, const AttentionOperands<Q, V>& d, const Block& b, float* scratch) {
    constexpr AttentionUnits u = units<Q>;
    const PackedHead packed(s, u);
    const AttentionScratch parts(s, u);
    const Q* keys = d.packed + (b.batch * s.shared_heads + b.head / s.group()) * packed.elements();
    const Q* values = keys + packed.keys;
    const auto q = query_rows(s, d.q + b.batch * s.q.batch + b.head * s.q.head + b.first * s.q.row, b.count,
                              scratch + parts.scores + parts.sums);
    const int64_t row_step = std::min(most_keys, packed.rows);
    float* scores = scratch;
    // In place of the scores.
    const FactorRows<Q> weights{reinterpret_cast<const Q*>(scores),
                                row_step * int64_t(sizeof(float) / sizeof(Q))};
    Sums sums;
    sums.values = scratch + parts.scores;
    std::fill_n(sums.top, b.count, -infinite);
    std::fill_n(sums.sum, b.count, 0.0F);
    std::fill_n(sums.values, b.count * u.in_panels(s.value_width), 0.0F);
    const int64_t seen = keys_seen(s, d.mask, b);
    for (int64_t key = 0; key < seen; key += most_keys) {
        const int64_t count = std::min(most_keys, seen - key);
        add_scores(s, b, q, keys, key, count, scores, row_step);
        update<Q>(s, d.mask, b, key, count, scores, row_step, sums);
        add_values(s, b, values + key * u.panel, packed.rows * u.panel, key, count, weights, sums.values);
    }
    store_block(s, d, b, sums);
}

template <class Q, class V>
void attend(const AttentionShape& s, const AttentionOperands<Q, V>& d, int64_t first, int64_t last,
            float* scratch) {
    constexpr bool has_tiles = units<Q>.rows > 1;
    const QueryBlocks blocks(s.queries, units<Q>);
    if constexpr (has_tiles) begin_tiles();
    for (int64_t i = first; i < last; ++i) {
        const int64_t head = i / blocks.count, begin = blocks.begin(i % blocks.count);
        attend_block(s, d,
                     {head / s.heads, head % s.heads, begin, blocks.begin(i % blocks.count + 1) - begin},
                     scratch);
    }
    if constexpr (has_tiles) end_tiles();
}

// --- backward ---

// A head of the keys, packed, and blocks of scores.
struct HeadScratch {
    float *kt, *vt, *k, *q, *dy;
    float *weights, *of_scores, *weights_by_key, *of_scores_by_key;
    HeadScratch(const AttentionShape& s, float* scratch) {
        const BackwardScratch sizes(s);
        auto take = [&](int64_t floats) {
            float* taken = scratch;
            scratch += floats;
            return taken;
        };
        kt = take(sizes.kt);
        vt = take(sizes.vt);
        k = take(sizes.k);
        q = take(sizes.q);
        dy = take(sizes.dy);
        weights = take(sizes.block);
        of_scores = take(sizes.block);
        weights_by_key = take(sizes.block);
        of_scores_by_key = take(sizes.block);
    }
};

// The starts of a block's operands, and those of its keys.
struct BlockRows {
    const float *q, *dy, *y, *log_sum_exp, *dlog_sum_exp;
    float *dq, *dk, *dv;
    BlockRows(const AttentionShape& s, const AttentionGradients& g, const Block& b) {
        const int64_t of_q = b.batch * s.q.batch + b.head * s.q.head + b.first * s.q.row;
        const int64_t of_y = b.batch * s.y.batch + b.head * s.y.head + b.first * s.y.row;
        const int64_t row = (b.batch * s.heads + b.head) * s.queries + b.first, shared = b.head / s.group();
        q = g.q + of_q;
        dq = g.dq + of_q;
        dy = g.dy + of_y;
        y = g.y + of_y;
        log_sum_exp = g.log_sum_exp + row;
        dlog_sum_exp = g.dlog_sum_exp ? g.dlog_sum_exp + row : nullptr;
        dk = g.dk + b.batch * s.k.batch + shared * s.k.head;
        dv = g.dv + b.batch * s.v.batch + shared * s.v.head;
    }
};

void pack_head(const AttentionShape& s, const AttentionGradients& g, int64_t batch, int64_t head,
               const HeadScratch& to) {
    const float* k = g.k + batch * s.k.batch + head * s.k.head;
    const float* v = g.v + batch * s.v.batch + head * s.v.head;
    const int64_t rows = in_panels(s.keys);
    for (int64_t key = 0; key < s.keys; key += panel) {
        const int64_t count = std::min(panel, s.keys - key);
        const float* from = k + key * s.k.row;
        pack_columns(from, s.k.row, count, s.width, to.kt + key * s.width);
        pack_columns(v + key * s.v.row, s.v.row, count, s.value_width, to.vt + key * s.value_width);
        pack_rows(from, s.k.row, count, s.width, to.k + key * panel, rows * panel);
    }
}

// All rows of a block, as rows of panels of columns.
void pack_block(const float* rows, int64_t row_step, int64_t count, int64_t width, float* to) {
    for (int64_t r = 0; r < count; r += panel)
        pack_rows(rows + r * row_step, row_step, std::min(panel, count - r), width, to + r * panel,
                  most_queries * panel);
}

// of_scores = weights · (of_scores − rest) · scale
void finish_gradients(const float* weights, float* of_scores, int64_t padded, float rest, float scale) {
    const int64_t lanes = int64_t(simd_lanes());
    const Simd less = Simd::fill(rest), factor = Simd::fill(scale);
    for (int64_t i = 0; i < padded; i += lanes)
        (Simd::load(weights + i) * (Simd::load(of_scores + i) - less) * factor).store(of_scores + i);
}

// Zeros after the end of the row, so that an infinite or NaN score there has no effect.
void weigh_block(const AttentionShape& s, const AttentionGradients& g, const Block& b, const BlockRows& rows,
                 const float* rest, int64_t key, int64_t count, const HeadScratch& h, int64_t row_step) {
    const int64_t padded = in_panels(count);
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t query = b.first + r;
        const int64_t seen = std::clamp<int64_t>(visible_keys(s, query) - key, 0, count);
        float *weights = h.weights + r * row_step, *of_scores = h.of_scores + r * row_step;
        finish_scores(weights, seen, padded, s.scale, mask_row(s, g.mask, b.batch, b.head, query, key));
        exponentials(weights, padded, rows.log_sum_exp[r], weights);
        finish_gradients(weights, of_scores, padded, rest[r], s.scale);
    }
    transpose_rows(h.weights, row_step, b.count, count, h.weights_by_key, most_queries);
    transpose_rows(h.of_scores, row_step, b.count, count, h.of_scores_by_key, most_queries);
}

// dv += Pᵀ dy,  dk += dSᵀ q,  dq += dS k
void add_gradients(const AttentionShape& s, const Block& b, const BlockRows& rows, int64_t key, int64_t count,
                   const HeadScratch& h, int64_t row_step) {
    const int64_t packed_rows = in_panels(s.keys), column_step = most_queries;
    for (int64_t c = 0; c < s.value_width; c += panel)
        panels::add_panel(
            {h.weights_by_key, most_queries, h.dy + c * column_step, rows.dv + key * s.v.row + c, s.v.row}, 0,
            count, b.count, std::min(panel, s.value_width - c), false);
    for (int64_t c = 0; c < s.width; c += panel) {
        const int64_t columns = std::min(panel, s.width - c);
        panels::add_panel(
            {h.of_scores_by_key, most_queries, h.q + c * column_step, rows.dk + key * s.k.row + c, s.k.row},
            0, count, b.count, columns, false);
        panels::add_panel({h.of_scores, row_step, h.k + c * packed_rows + key * panel, rows.dq + c, s.q.row},
                          0, b.count, count, columns, false);
    }
}

void attend_block_backward(const AttentionShape& s, const AttentionGradients& g, const Block& b,
                           const HeadScratch& h) {
    const BlockRows rows(s, g, b);
    const int64_t row_step = std::min(most_keys_backward, in_panels(s.keys));
    float rest[most_queries];
    for (int64_t r = 0; r < b.count; ++r) {
        rest[r] = dot(rows.dy + r * s.y.row, rows.y + r * s.y.row, s.value_width);
        if (rows.dlog_sum_exp) rest[r] -= rows.dlog_sum_exp[r];
        std::fill_n(rows.dq + r * s.q.row, s.width, 0.0F);
    }
    pack_block(rows.q, s.q.row, b.count, s.width, h.q);
    pack_block(rows.dy, s.y.row, b.count, s.value_width, h.dy);
    const int64_t seen = visible_keys(s, b.first + b.count - 1);
    for (int64_t key = 0; key < seen; key += most_keys_backward) {
        const int64_t count = std::min(most_keys_backward, seen - key);
        for (int64_t c = 0; c < count; c += panel) {
            panels::add_panel({rows.q, s.q.row, h.kt + (key + c) * s.width, h.weights + c, row_step}, 0,
                              b.count, s.width, panel, true);
            panels::add_panel({rows.dy, s.y.row, h.vt + (key + c) * s.value_width, h.of_scores + c, row_step},
                              0, b.count, s.value_width, panel, true);
        }
        weigh_block(s, g, b, rows, rest, key, count, h, row_step);
        add_gradients(s, b, rows, key, count, h, row_step);
    }
}

void attend_backward(const AttentionShape& s, const AttentionGradients& g, int64_t first, int64_t last,
                     float* scratch) {
    const HeadScratch h(s, scratch);
    const QueryBlocks blocks(s.queries, vector_units);
    for (int64_t i = first; i < last; ++i) {
        const int64_t batch = i / s.shared_heads, shared = i % s.shared_heads;
        pack_head(s, g, batch, shared, h);
        for (int64_t key = 0; key < s.keys; ++key) {
            std::fill_n(g.dk + batch * s.k.batch + shared * s.k.head + key * s.k.row, s.width, 0.0F);
            std::fill_n(g.dv + batch * s.v.batch + shared * s.v.head + key * s.v.row, s.value_width, 0.0F);
        }
        for (int64_t head = shared * s.group(); head < (shared + 1) * s.group(); ++head)
            for (int64_t block = 0; block < blocks.count; ++block) {
                const int64_t begin = blocks.begin(block), end = blocks.begin(block + 1);
                attend_block_backward(s, g, {batch, head, begin, end - begin}, h);
            }
    }
}

constexpr AttentionFunctions functions {
    .floats = {pack<float, float>, attend<float, float>},
#if HWY_TARGET <= HWY_AVX3
    .halves = {pack<BFloat16, BFloat16>, attend<BFloat16, BFloat16>},
    .half_factors = {pack<BFloat16, float>, attend<BFloat16, float>},
#endif
    .attend_backward = attend_backward,
};

}  // namespace

const AttentionFunctions* attention_functions_of_target() { return &functions; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(attention_functions_of_target);

const AttentionFunctions& attention_functions() {
    static const auto* best =
        (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(attention_functions_of_target)());
    return *best;
}

AttentionSizes attention_sizes(const AttentionShape& s, bool has_tiles) {
    const AttentionUnits& units = has_tiles ? tile_units : vector_units;
    const PackedHead packed(s, units);
    const int64_t heads = s.batch * s.shared_heads;
    return {.pack_items = heads * (packed.rows / units.panel),
            .items = s.batch * s.heads * QueryBlocks(s.queries, units).count,
            .packed = heads * packed.elements(),
            .scratch = AttentionScratch(s, units).floats()};
}
int64_t backward_scratch(const AttentionShape& s) { return BackwardScratch(s).floats; }

}  // namespace mge::cpu
#endif
