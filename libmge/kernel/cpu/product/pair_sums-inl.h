// SPDX-License-Identifier: Apache-2.0
// Sums of products of i16, those of two neighbours together. Included by *.simd.cpp files after
// foreach_target.h and once per instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_PAIR_SUMS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_PAIR_SUMS_H
#undef MGE_KERNEL_CPU_PAIR_SUMS_H
#else
#define MGE_KERNEL_CPU_PAIR_SUMS_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/keep_in_order-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

// One instruction of x86-64 adds neighbouring products. NEON multiplies the two halves of vectors apart, and
// adds neighbouring sums at the end.
using PairSum = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int32_t>>;
using Pairs16 = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int16_t>>;
#if HWY_TARGET == HWY_NEON
struct PairSums {
    PairSum lower, upper;
    // GCC generates one of its own outside of the region for the target, where it inlines no vectors.
    HWY_INLINE PairSums() : lower(vdupq_n_s32(0)), upper(lower) {}
};
HWY_INLINE PairSums no_pairs() { return PairSums(); }
HWY_INLINE void add_pairs(PairSums& left, PairSums& right, const Pairs16& x, const Pairs16& b0,
                          const Pairs16& b1) {
    const hwy::HWY_NAMESPACE::ScalableTag<int32_t> d;
    left.lower = hwy::HWY_NAMESPACE::ReorderWidenMulAccumulate(d, x, b0, left.lower, left.upper);
    right.lower = hwy::HWY_NAMESPACE::ReorderWidenMulAccumulate(d, x, b1, right.lower, right.upper);
}
HWY_INLINE PairSum total(PairSums s) { return PairSum{vpaddq_s32(s.lower.raw, s.upper.raw)}; }
#else
using PairSums = PairSum;
HWY_INLINE PairSums no_pairs() {
    return hwy::HWY_NAMESPACE::Zero(hwy::HWY_NAMESPACE::ScalableTag<int32_t>());
}
HWY_INLINE PairSum sum_of_pairs(Pairs16 a, Pairs16 b) {
    PairSum unused = no_pairs();
    const hwy::HWY_NAMESPACE::ScalableTag<int32_t> d;
    return hwy::HWY_NAMESPACE::ReorderWidenMulAccumulate(d, a, b, no_pairs(), unused);
}
HWY_INLINE void add_pairs(PairSums& left, PairSums& right, const Pairs16& x, const Pairs16& b0,
                          const Pairs16& b1) {
    add_in_order(left, right, sum_of_pairs(x, b0), sum_of_pairs(x, b1));
}
HWY_INLINE PairSum total(PairSums sums) { return sums; }
#endif

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
