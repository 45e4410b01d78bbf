// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/attention/attention_blocks.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/attention/attention_plan.h"
#include "libmge/kernel/cpu/attention/attention_scores-inl.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/panel_tiles-inl.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t panel = attention_panel;

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

void pack(const AttentionShape& s, const AttentionData& d, int64_t first, int64_t last) {
    const PackedHead packed(s);
    const int64_t panels = panels_of(s.keys);
    for (int64_t i = first; i < last; ++i) {
        const int64_t item = i / panels, row = i % panels * panel, count = std::min(panel, s.keys - row);
        const int64_t batch = item / s.shared_heads, head = item % s.shared_heads;
        float* to = d.packed + item * packed.floats();
        pack_columns(d.k + batch * s.k.batch + head * s.k.head + row * s.k.row, s.k.row, count, s.width,
                     to + row * s.width);
        pack_rows(d.v + batch * s.v.batch + head * s.v.head + row * s.v.row, s.v.row, count, s.value_width,
                  to + packed.keys + row * panel, packed.rows * panel);
    }
}

// --- forward ---

void scale_row(const float* x, float* y, int64_t n, float factor) {
    const int64_t lanes = int64_t(simd_lanes());
    const Simd by = Simd::fill(factor);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) (Simd::load(x + i) * by).store(y + i);
    for (; i < n; ++i) y[i] = x[i] * factor;
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

// Converts the scores of a block of keys to weights, and rescales the current sums accordingly.
void update(const AttentionShape& s, const AttentionData& d, const Block& b, int64_t key, int64_t count,
            float* scores, int64_t row_step, Sums& sums) {
    const int64_t padded = in_panels(count), width = in_panels(s.value_width);
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t query = b.first + r;
        const int64_t seen = std::clamp<int64_t>(visible_keys(s, query) - key, 0, count);
        float* row = scores + r * row_step;
        float top =
            finish_scores(row, seen, padded, s.scale, mask_row(s, d.mask, b.batch, b.head, query, key));
        top = std::max(top, sums.top[r]);
        // For a query that has not seen any key, all differences are minus infinity.
        const float shift = top == -infinite ? 0 : top;
        const float sum = exponentials(row, padded, shift);
        if (key > 0) {
            const float factor = std::exp(sums.top[r] - shift);
            if (factor != 1) scale_row(sums.values + r * width, sums.values + r * width, width, factor);
            sums.sum[r] *= factor;
        }
        sums.sum[r] += sum;
        sums.top[r] = top;
    }
}

void store(const AttentionShape& s, const AttentionData& d, const Block& b, const Sums& sums) {
    const int64_t width = in_panels(s.value_width);
    float* y = d.y + b.batch * s.y.batch + b.head * s.y.head + b.first * s.y.row;
    float* log_sum_exp = d.log_sum_exp + (b.batch * s.heads + b.head) * s.queries + b.first;
    for (int64_t r = 0; r < b.count; ++r) {
        const bool is_blind = sums.sum[r] == 0;
        scale_row(sums.values + r * width, y + r * s.y.row, s.value_width, is_blind ? 0 : 1 / sums.sum[r]);
        log_sum_exp[r] = is_blind ? infinite : sums.top[r] + std::log(sums.sum[r]);
    }
}

// Queries whose sums of values are computed together when they see different numbers of keys: some tiles.
constexpr int64_t causal_rows = 16;

// The first query of a block that sees a key.
int64_t first_query_that_sees(const AttentionShape& s, const Block& b, int64_t key) {
    return s.is_causal ? std::clamp<int64_t>(key - s.first_visible + 1 - b.first, 0, b.count) : 0;
}

// The keys visible to any query of the block, in panels.
void add_scores(const AttentionShape& s, const Block& b, const float* q, const float* keys, int64_t key,
                int64_t count, float* scores, int64_t row_step) {
    for (int64_t c = 0; c < count; c += panel)
        panels::add_panel({q, s.q.row, keys + (key + c) * s.width, scores + c, row_step},
                          first_query_that_sees(s, b, key + c), b.count, s.width, panel, true);
}

// `values`: those of the block's first key, in panels `panel_step` apart.
void add_values(const AttentionShape& s, const Block& b, const float* values, int64_t panel_step, int64_t key,
                int64_t count, const float* scores, int64_t row_step, float* sums) {
    const int64_t width = in_panels(s.value_width), rows = s.is_causal ? causal_rows : b.count;
    for (int64_t c = 0; c < width; c += panel)
        for (int64_t r = 0; r < b.count; r += rows) {
            const int64_t end = std::min(r + rows, b.count), seen = visible_keys(s, b.first + end - 1) - key;
            if (seen <= 0) continue;
            panels::add_panel({scores, row_step, values + c / panel * panel_step, sums + c, width}, r, end,
                              std::min(seen, count), panel, key == 0);
        }
}

void attend_block(const AttentionShape& s, const AttentionData& d, const Block& b, float* scratch) {
    const PackedHead packed(s);
    const float* keys = d.packed + (b.batch * s.shared_heads + b.head / s.group()) * packed.floats();
    const float* values = keys + packed.keys;
    const float* q = d.q + b.batch * s.q.batch + b.head * s.q.head + b.first * s.q.row;
    const int64_t width = in_panels(s.value_width), row_step = std::min(most_keys, packed.rows);
    float* scores = scratch;
    Sums sums;
    sums.values = scratch + AttentionScratch(s).scores;
    std::fill_n(sums.top, b.count, -infinite);
    std::fill_n(sums.sum, b.count, 0.0F);
    std::fill_n(sums.values, b.count * width, 0.0F);
    const int64_t seen = keys_seen(s, d.mask, b);
    for (int64_t key = 0; key < seen; key += most_keys) {
        const int64_t count = std::min(most_keys, seen - key);
        add_scores(s, b, q, keys, key, count, scores, row_step);
        update(s, d, b, key, count, scores, row_step, sums);
        add_values(s, b, values + key * panel, packed.rows * panel, key, count, scores, row_step,
                   sums.values);
    }
    store(s, d, b, sums);
}

void attend(const AttentionShape& s, const AttentionData& d, int64_t first, int64_t last, float* scratch) {
    const QueryBlocks blocks(s.queries);
    for (int64_t i = first; i < last; ++i) {
        const int64_t head = i / blocks.count, begin = blocks.begin(i % blocks.count);
        attend_block(s, d,
                     {head / s.heads, head % s.heads, begin, blocks.begin(i % blocks.count + 1) - begin},
                     scratch);
    }
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
        exponentials(weights, padded, rows.log_sum_exp[r]);
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
    const QueryBlocks blocks(s.queries);
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

constexpr AttentionFunctions functions{pack, attend, attend_backward};

}  // namespace

const AttentionFunctions* attention_functions_of_target() { return &functions; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(attention_functions_of_target);

const AttentionFunctions& attention_functions() {
    static const AttentionFunctions* best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(attention_functions_of_target)();
    }();
    return *best;
}

int64_t pack_items(const AttentionShape& s) { return s.batch * s.shared_heads * panels_of(s.keys); }
int64_t attention_items(const AttentionShape& s) { return s.batch * s.heads * QueryBlocks(s.queries).count; }
int64_t packed_floats(const AttentionShape& s) { return s.batch * s.shared_heads * PackedHead(s).floats(); }
int64_t attention_scratch(const AttentionShape& s) { return AttentionScratch(s).floats; }
int64_t backward_scratch(const AttentionShape& s) { return BackwardScratch(s).floats; }

}  // namespace mge::cpu
#endif
