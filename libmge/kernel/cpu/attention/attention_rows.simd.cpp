// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/attention/attention_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <cmath>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/attention/attention_plan.h"
#include "libmge/kernel/cpu/attention/attention_rows.h"
#include "libmge/kernel/cpu/attention/attention_scores-inl.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

// Values of the keys that a query sees, with their weights.
struct WeightedRows {
    const float* first;
    int64_t step, count;
    const float* weights;
    float factor;  // factor of the sum
};

HWY_INLINE void sum_four(const WeightedRows& rows, int64_t column, float* y) {
    const int64_t lanes = int64_t(simd_lanes());
    Simd a = Simd::fill(0), b = a, c = a, d = a;
    const float* from = rows.first + column;
    for (int64_t i = 0; i < rows.count; ++i, from += rows.step) {
        const Simd weight = Simd::fill(rows.weights[i]);
        a = multiply_add(Simd::load(from), weight, a);
        b = multiply_add(Simd::load(from + lanes), weight, b);
        c = multiply_add(Simd::load(from + 2 * lanes), weight, c);
        d = multiply_add(Simd::load(from + 3 * lanes), weight, d);
    }
    const Simd factor = Simd::fill(rows.factor);
    (a * factor).store(y + column);
    (b * factor).store(y + column + lanes);
    (c * factor).store(y + column + 2 * lanes);
    (d * factor).store(y + column + 3 * lanes);
}
HWY_INLINE void sum_one(const WeightedRows& rows, int64_t column, float* y) {
    Simd sum = Simd::fill(0);
    for (int64_t i = 0; i < rows.count; ++i)
        sum = multiply_add(Simd::load(rows.first + i * rows.step + column), Simd::fill(rows.weights[i]), sum);
    (sum * Simd::fill(rows.factor)).store(y + column);
}
void sum_rows(const WeightedRows& rows, int64_t width, float* y) {
    const int64_t lanes = int64_t(simd_lanes());
    int64_t column = 0;
    for (; column + 4 * lanes <= width; column += 4 * lanes) sum_four(rows, column, y);
    for (; column + lanes <= width; column += lanes) sum_one(rows, column, y);
    for (; column < width; ++column) {
        float sum = 0;
        for (int64_t i = 0; i < rows.count; ++i) sum += rows.first[i * rows.step + column] * rows.weights[i];
        y[column] = sum * rows.factor;
    }
}

// The number of first keys that contain all that the mask shows. Caches of a fixed length end with hidden
// keys. A query from which the mask hides every key weighs all of them.
int64_t shown_keys(const MaskRow& mask, int64_t seen) {
    if (!mask.first || mask.step != 1) return seen;
    const int64_t end = end_of_visible(mask.first, 0, seen);
    return end > 0 ? end : seen;
}

void attend_query(const AttentionShape& s, const AttentionData& d, int64_t batch, int64_t head, int64_t query,
                  float* scores) {
    const MaskRow mask = mask_row(s, d.mask, batch, head, query, 0);
    const int64_t seen = shown_keys(mask, visible_keys(s, query));
    const int64_t padded = in_panels(seen), shared = head / s.group();
    const float* q = d.q + batch * s.q.batch + head * s.q.head + query * s.q.row;
    const float* k = d.k + batch * s.k.batch + shared * s.k.head;
    for (int64_t key = 0; key < seen; ++key) scores[key] = dot(q, k + key * s.k.row, s.width);
    float top = -infinite, shift = 0, sum = 0;
    if (seen > 0) {
        top = finish_scores(scores, seen, padded, s.scale, mask);
        // For a query that sees no key, all differences are minus infinity.
        shift = top == -infinite ? 0 : top;
        sum = exponentials(scores, padded, shift, scores);
    }
    const bool is_blind = sum == 0;
    sum_rows({d.v + batch * s.v.batch + shared * s.v.head, s.v.row, seen, scores, is_blind ? 0 : 1 / sum},
             s.value_width, d.y + batch * s.y.batch + head * s.y.head + query * s.y.row);
    d.log_sum_exp[(batch * s.heads + head) * s.queries + query] = is_blind ? infinite : shift + std::log(sum);
}

void attend_rows(const AttentionShape& s, const AttentionData& d, int64_t first, int64_t last,
                 float* scratch) {
    for (int64_t i = first; i < last; ++i) {
        const int64_t head = i / s.queries;
        attend_query(s, d, head / s.heads, head % s.heads, i % s.queries, scratch);
    }
}

}  // namespace

AttendRows attend_rows_of_target() { return attend_rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(attend_rows_of_target);

AttendRows attend_rows() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(attend_rows_of_target)());
    return best;
}

int64_t attend_rows_scratch(const AttentionShape& s) { return in_panels(s.keys); }

}  // namespace mge::cpu
#endif
