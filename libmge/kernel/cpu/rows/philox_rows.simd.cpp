// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/philox_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <numbers>

#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/philox_rows.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"
#include "libmge/kernel/scalar/philox.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

using U32 = hn::RebindToUnsigned<F32>;
using U64 = hn::RepartitionToWide<U32>;
using Words = hn::Vec<U32>;

// The upper and lower halves of products.
HWY_INLINE void multiply(Words x, uint32_t factor, Words& high, Words& low) {
    const U32 d;
    const U64 wide;
    const auto factors = hn::Set(d, factor);
    const auto even = hn::MulEven(x, factors);
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), factors);
    high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
    low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

// The words of neighbouring blocks.
HWY_INLINE void philox(const PhiloxStream& s, int64_t block, Words& c0, Words& c1, Words& c2, Words& c3) {
    const U32 d;
    const auto low = uint32_t(block), high = uint32_t(uint64_t(block) >> 32);
    c0 = hn::Add(hn::Set(d, low), hn::Iota(d, 0));
    c1 = hn::IfThenElse(hn::Lt(c0, hn::Set(d, low)), hn::Set(d, high + 1), hn::Set(d, high));
    c2 = hn::Set(d, s.counter);
    c3 = hn::Set(d, s.stream);
    uint32_t k0 = s.key, k1 = 0;
    for (unsigned round = 0; round < philox_rounds; ++round) {
        Words high0, low0, high1, low1;
        multiply(c0, philox_factor0, high0, low0);
        multiply(c2, philox_factor1, high1, low1);
        c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
        c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
        c1 = low1;
        c3 = low0;
        k0 += philox_step0;
        k1 += philox_step1;
    }
}

void words(const PhiloxStream& s, int64_t first, int64_t blocks, uint32_t* to) {
    const auto lanes = int64_t(simd_lanes());
    for (int64_t i = 0; i < blocks; i += lanes) {
        Words c0, c1, c2, c3;
        philox(s, first + i, c0, c1, c2, c3);
        hn::StoreInterleaved4(c0, c1, c2, c3, U32(), to + 4 * i);
    }
}

// Whole numbers of 24 bits.
HWY_INLINE Simd upper_bits(Words x) {
    return Simd(hn::ConvertTo(F32(), hn::BitCast(I32(), hn::ShiftRight<8>(x))));
}

// Two independent normal numbers from a point of the unit square (Box and Muller, 1958).
HWY_INLINE void box_muller(Words first, Words second, Simd mean, Simd deviation, Simd& a, Simd& b) {
    const Simd unit(0x1p-24), one(1.0);
    const Simd radius = deviation * sqrt(Simd(-2.0) * log((upper_bits(first) + one) * unit));
    const Simd angle = Simd(2 * std::numbers::pi) * (upper_bits(second) * unit);
    a = mean + radius * cos(angle);
    b = mean + radius * sin(angle);
}

void normal(const PhiloxStream& s, int64_t first, int64_t blocks, float mean, float deviation, float* to) {
    const auto lanes = int64_t(simd_lanes());
    const Simd middle = Simd::fill(mean), scale = Simd::fill(deviation);
    for (int64_t i = 0; i < blocks; i += lanes) {
        Words c0, c1, c2, c3;
        philox(s, first + i, c0, c1, c2, c3);
        Simd y0(0.0), y1(0.0), y2(0.0), y3(0.0);
        box_muller(c0, c1, middle, scale, y0, y1);
        box_muller(c2, c3, middle, scale, y2, y3);
        hn::StoreInterleaved4(y0.v, y1.v, y2.v, y3.v, F32(), to + 4 * i);
    }
}

}  // namespace

PhiloxRows make_philox_rows() { return {words, normal}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_philox_rows);

const PhiloxRows& philox_rows() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_philox_rows)());
    return best;
}

}  // namespace mge::cpu
#endif
