// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/peak.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/peak.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
}  // namespace

// Twelve independent sums: more than latency times throughput of the multiply-add units, and fewer than the
// sixteen registers that every instruction set has.
double multiply_adds(int64_t rounds) {
    const F32 d;
    const auto a = hn::Set(d, 0.999f), b = hn::Set(d, 0.001f);
    // Different starting values: a compiler merges equal sums, and the latency would be measured.
    auto start = [&](int i) { return hn::Set(d, 0.001f * float(i + 1)); };
    auto s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3), s4 = start(4), s5 = start(5);
    auto s6 = start(6), s7 = start(7), s8 = start(8), s9 = start(9), s10 = start(10), s11 = start(11);
    for (int64_t i = 0; i < rounds; ++i) {
        s0 = hn::MulAdd(s0, a, b);
        s1 = hn::MulAdd(s1, a, b);
        s2 = hn::MulAdd(s2, a, b);
        s3 = hn::MulAdd(s3, a, b);
        s4 = hn::MulAdd(s4, a, b);
        s5 = hn::MulAdd(s5, a, b);
        s6 = hn::MulAdd(s6, a, b);
        s7 = hn::MulAdd(s7, a, b);
        s8 = hn::MulAdd(s8, a, b);
        s9 = hn::MulAdd(s9, a, b);
        s10 = hn::MulAdd(s10, a, b);
        s11 = hn::MulAdd(s11, a, b);
    }
    auto low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
    auto high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
    // The sums must be used, otherwise the compiler removes them.
    volatile float used = hn::GetLane(hn::Add(low, high));
    (void)used;
    return double(rounds) * 12 * 2 * double(hn::Lanes(d));
}

double multiply_pairs(int64_t rounds) {
    const hn::ScalableTag<int32_t> d;
    const hn::ScalableTag<int16_t> pairs;
    const auto b = hn::Set(pairs, 1);
    auto start = [&](int i) { return hn::Set(d, i); };
    auto s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3), s4 = start(4), s5 = start(5);
    // Each product has another factor: equal ones would be computed once.
    auto added = [&](hn::Vec<hn::ScalableTag<int32_t>> sum) {
        auto unused = hn::Zero(d);
        return hn::ReorderWidenMulAccumulate(d, hn::BitCast(pairs, sum), b, sum, unused);
    };
    for (int64_t i = 0; i < rounds; ++i) {
        s0 = added(s0);
        s1 = added(s1);
        s2 = added(s2);
        s3 = added(s3);
        s4 = added(s4);
        s5 = added(s5);
    }
    volatile int32_t used = hn::GetLane(hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5)));
    (void)used;
    return double(rounds) * 6 * 2 * double(hn::Lanes(pairs));
}

void stream_triad(const float* x, float* y, int64_t n) {
    const F32 d;
    const auto half = hn::Set(d, 0.5f);
    const int64_t lanes = int64_t(hn::Lanes(d));
    auto vector_at = [&](int64_t i) {
        hn::StoreU(hn::MulAdd(hn::LoadU(d, y + i), half, hn::LoadU(d, x + i)), d, y + i);
    };
    int64_t i = 0;
    // In the first cache, the loop itself would take a third of the time.
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        vector_at(i);
        vector_at(i + lanes);
        vector_at(i + 2 * lanes);
        vector_at(i + 3 * lanes);
    }
    for (; i + lanes <= n; i += lanes) vector_at(i);
    for (; i < n; ++i) y[i] = y[i] * 0.5f + x[i];
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(multiply_pairs);
HWY_EXPORT(stream_triad);

double multiply_adds(int64_t rounds) {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(multiply_adds)(rounds);
}

double multiply_pairs(int64_t rounds) {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(multiply_pairs)(rounds);
}

void stream_triad(const float* x, float* y, int64_t n) {
    limit_highway_targets();
    HWY_DYNAMIC_DISPATCH(stream_triad)(x, y, n);
}

}  // namespace mge::cpu
#endif
