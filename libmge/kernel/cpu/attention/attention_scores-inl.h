// SPDX-License-Identifier: Apache-2.0
// Scores of a query and their conversion to weights. Included by *.simd.cpp files after foreach_target.h and
// once per instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_ATTENTION_SCORES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_ATTENTION_SCORES_H
#undef MGE_KERNEL_CPU_ATTENTION_SCORES_H
#else
#define MGE_KERNEL_CPU_ATTENTION_SCORES_H
#endif

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "libmge/kernel/attention_shape.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

HWY_INLINE float dot(const float* a, const float* b, int64_t n) {
    const int64_t lanes = int64_t(simd_lanes());
    Simd sum = Simd::fill(0);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) sum = multiply_add(Simd::load(a + i), Simd::load(b + i), sum);
    float total = hn::GetLane(hn::SumOfLanes(F32(), sum.v));
    for (; i < n; ++i) total += a[i] * b[i];
    return total;
}

// The mask of one query.
struct MaskRow {
    const float* first;  // null: no mask
    int64_t step;
};
HWY_INLINE MaskRow mask_row(const AttentionShape& s, const float* mask, int64_t batch, int64_t head,
                            int64_t query, int64_t key) {
    if (!mask) return {nullptr, 0};
    return {mask + batch * s.mask.batch + head * s.mask.head + query * s.mask.query + key * s.mask.key,
            s.mask.key};
}

// Scores are so far above this that the weights of keys with such a mask are exactly zero.
constexpr float hides = -1e38F;

// The end of the last key in [first, last) that the mask does not hide; `first` if it hides all.
HWY_INLINE int64_t end_of_visible(const float* mask, int64_t first, int64_t last) {
    const int64_t lanes = int64_t(simd_lanes());
    const auto most = hn::Set(F32(), hides);
    auto is_hidden = [&](int64_t i) { return hn::AllTrue(F32(), hn::Le(Simd::load(mask + i).v, most)); };
    while (last - lanes >= first && is_hidden(last - lanes)) last -= lanes;
    while (last > first && mask[last - 1] <= hides) --last;
    return last;
}

// Scales products and adds the mask for the first `seen` of them; the others, up to whole panels, become
// minus infinity. Returns the maximum; with a NaN it is unspecified, because NaN makes all weights NaN.
HWY_INLINE float finish_scores(float* scores, int64_t seen, int64_t padded, float scale,
                               const MaskRow& mask) {
    const int64_t lanes = int64_t(simd_lanes());
    const Simd factor = Simd::fill(scale);
    Simd top = Simd::fill(-infinite), added = Simd::fill(mask.first ? *mask.first : 0);
    const bool has_row = mask.first && mask.step;
    int64_t i = 0;
    for (; i + lanes <= seen; i += lanes) {
        if (has_row) added = Simd::load(mask.first + i);
        Simd score = multiply_add(Simd::load(scores + i), factor, added);
        score.store(scores + i);
        top = Simd(hn::Max(top.v, score.v));
    }
    float largest = hn::GetLane(hn::MaxOfLanes(F32(), top.v));
    for (; i < seen; ++i) {
        scores[i] = scores[i] * scale + (mask.first ? mask.first[i * mask.step] : 0);
        largest = std::max(largest, scores[i]);
    }
    std::fill(scores + seen, scores + padded, -infinite);
    return largest;
}

// e^x, or 0 below 2^-124: a subnormal result would take a vector a hundred times as long, even if it is
// rounded to 0, as those of hidden keys are.
HWY_INLINE Simd weight_of(Simd x) {
    const Simd zero(0.0);
    const SimdMask is_tiny = x < Simd(-86.0);
    const auto [whole, fraction] = power_of_two(select(is_tiny, zero, x), Simd(1.4426950408889634));
    return select(is_tiny, zero, whole * fraction);
}

// The weights of scores, less `top`, which may be in place; returns their sum.
HWY_INLINE float exponentials(const float* scores, int64_t padded, float top, float* weights) {
    const int64_t lanes = int64_t(simd_lanes());
    const Simd shift = Simd::fill(top);
    Simd sum = Simd::fill(0);
    for (int64_t i = 0; i < padded; i += lanes) {
        Simd weight = weight_of(Simd::load(scores + i) - shift);
        weight.store(weights + i);
        sum = sum + weight;
    }
    return hn::GetLane(hn::SumOfLanes(F32(), sum.v));
}

}  // namespace
}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
