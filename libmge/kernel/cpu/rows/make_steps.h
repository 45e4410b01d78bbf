// SPDX-License-Identifier: Apache-2.0
// Conversion of vectors of real numbers to byte steps, bit-identical to the scalar functions in
// ops/quantize/quantisation.h. Included by *.simd.cpp files after foreach_target.h and once per instruction
// set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_MAKE_STEPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_MAKE_STEPS_H
#undef MGE_KERNEL_CPU_MAKE_STEPS_H
#else
#define MGE_KERNEL_CPU_MAKE_STEPS_H
#endif

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

// Same as apply_activation for the activations that has_step_rows() accepts.
HWY_INLINE Simd activated(Activation activation, Simd x) {
    Simd zero(0.0), six(6.0);
    switch (activation) {
        case Activation::relu:
            return select(x > zero, x, zero);
        case Activation::relu6:
            return select(x < six, select(x > zero, x, zero), six);
        case Activation::hswish: {
            Simd shifted = x + Simd(3.0);
            return x * select(shifted < zero, zero, select(shifted > six, six, shifted)) / six;
        }
        default:
            return x;
    }
}

// The target steps, and the preceding operations.
struct WantedSteps {
    Activation activation;
    bool is_even;  // halves are rounded to even, and a quotient is used; otherwise away from zero
    float scale, zero, lower, upper;

    // Bounds may come before rounding, less the zero point, once no activation but relu is left to be done,
    // which is a bound, too. A large zero point would be rounded.
    bool may_bound_first() const {
        bool is_relu = activation == Activation::relu && 1 / scale > 0;
        return (activation == Activation::none || is_relu) && zero < 1 << 20 && zero > -(1 << 20);
    }
    // Bounds before rounding, as steps less the zero point.
    float lowest() const {
        float least = lower - zero;
        return activation == Activation::relu ? std::min(std::max(least, 0.f), upper - zero) : least;
    }
    float highest() const { return upper - zero; }
    // The quotients of values within the bounds can be corrected: nothing on the way exceeds the range of
    // floats, and for subnormal values the step is 0.
    bool may_correct() const {
        return HWY_NATIVE_FMA && may_bound_first() && scale > 0x1p-60f && scale < 0x1p60f;
    }
    // Bounds may also be applied last, in i16, if numbers of at most `most` have quotients that fit in i32.
    bool may_bound_last(float most) const {
        return is_even && may_correct() && std::abs(zero) <= 0x1p14f && most <= scale * 0x1p30f;
    }
};

// Each gives vectors of i32 with the steps in their lowest 8 bits.
struct BoundedFirst {
    Simd inverse, lower, upper, to_bits;

    explicit BoundedFirst(const WantedSteps& s)
        : inverse(Simd::fill(1 / s.scale)),
          lower(Simd::fill(s.lowest())),
          upper(Simd::fill(s.highest())),
          to_bits(Simd::fill(0x1.8p23f + s.zero)) {}  // the low bits then contain the added value
    HWY_INLINE hn::Vec<I32> operator()(Simd real) const {
        // NaN becomes the lowest: of two, the processor takes the second then.
        Simd x(hn::Min(hn::Max((real * inverse).v, lower.v), upper.v));
        // Added before the fraction is cut off, the largest number below one half rounds halves away from 0.
        Simd whole = truncate(x + copy_sign(Simd(0.49999997f), x));
        return hn::BitCast(I32(), (whole + to_bits).v);
    }
};
struct RoundedFirst {
    Activation activation;
    Simd inverse, zero, lower, upper;

    explicit RoundedFirst(const WantedSteps& s)
        : activation(s.activation),
          inverse(Simd::fill(1 / s.scale)),
          zero(Simd::fill(s.zero)),
          lower(Simd::fill(s.lower)),
          upper(Simd::fill(s.upper)) {}
    HWY_INLINE hn::Vec<I32> operator()(Simd real) const {
        Simd step = round(activated(activation, real) * inverse) + zero;
        // NaN becomes the lowest.
        step = select(step > lower, select(step < upper, step, upper), lower);
        return hn::ConvertTo(I32(), step.v);
    }
};
struct EvenSteps {
    Activation activation;
    Simd scale, zero, lower, upper;

    explicit EvenSteps(const WantedSteps& s)
        : activation(s.activation),
          scale(Simd::fill(s.scale)),
          zero(Simd::fill(s.zero)),
          lower(Simd::fill(s.lower)),
          upper(Simd::fill(s.upper)) {}
    HWY_INLINE hn::Vec<I32> operator()(Simd real) const {
        Simd step = round_to_even(activated(activation, real) / scale) + zero;
        // NaN becomes the lowest: of two, the processor takes the second then.
        return hn::ConvertTo(I32(), hn::Min(hn::Max(step.v, lower.v), upper.v));
    }
};

// Without a division, which takes as long as everything else: by the inverse and its rounding error, which is
// off by less than one of the last digits. Markstein: one correction by the remainder then gives the rounded
// quotient. The bounds are products with the scale, whose quotients round to the original steps.
struct CorrectedEven {
    Simd scale, inverse, rounded_off, lower, upper, to_bits;
    hn::Vec<I32> zero;

    explicit CorrectedEven(const WantedSteps& s)
        : scale(Simd::fill(s.scale)),
          inverse(Simd::fill(1 / s.scale)),
          rounded_off(Simd::fill(float(1 / double(s.scale) - double(1 / s.scale)))),
          lower(Simd::fill(s.lowest() * s.scale)),
          upper(Simd::fill(s.highest() * s.scale)),
          to_bits(Simd::fill(0x1.8p23f)),  // adding to it rounds the value into its low bits
          zero(hn::Set(I32(), int32_t(s.zero))) {}
    HWY_INLINE Simd quotient(Simd x) const {
        Simd nearly = multiply_add(x, inverse, x * rounded_off);
        Simd remainder(hn::NegMulAdd(nearly.v, scale.v, x.v));
        return multiply_add(remainder, inverse, nearly);
    }
    HWY_INLINE hn::Vec<I32> operator()(Simd real) const {
        // NaN becomes the lowest: of two, the processor takes the second then.
        Simd x(hn::Min(hn::Max(real.v, lower.v), upper.v));
        return hn::Add(hn::BitCast(I32(), (quotient(x) + to_bits).v), zero);
    }
};

// The same without the correction, which rounds_shortly() permits.
struct ShortEven {
    Simd inverse, rounded_off;

    explicit ShortEven(const WantedSteps& s)
        : inverse(Simd::fill(1 / s.scale)),
          rounded_off(Simd::fill(float(1 / double(s.scale) - double(1 / s.scale)))) {}
    HWY_INLINE Simd quotient(Simd x) const { return multiply_add(x, inverse, x * rounded_off); }
};

// f of the one that makes them.
template <class F>
HWY_INLINE auto with_steps_of(const WantedSteps& wanted, const F& f) {
    if (wanted.is_even && wanted.may_correct()) return f(std::type_identity<CorrectedEven>());
    if (wanted.is_even) return f(std::type_identity<EvenSteps>());
    return wanted.may_bound_first() ? f(std::type_identity<BoundedFirst>())
                                    : f(std::type_identity<RoundedFirst>());
}

// Signed and unsigned steps of a byte are stored alike.
HWY_INLINE auto low_bytes(hn::Vec<I32> steps) {
    return hn::TruncateTo(hn::Rebind<uint8_t, I32>(), hn::BitCast(hn::RebindToUnsigned<I32>(), steps));
}

// Bytes of two vectors of i32 that were narrowed as one: if lanes are halves of vectors, those of both are
// interleaved.
template <class Bytes>
HWY_INLINE Bytes in_order(Bytes steps) {
    if constexpr (hn::MaxLanes(I32()) == 8) {
        const hn::DFromV<Bytes> d;
        alignas(16) static constexpr uint8_t order[16] = {0, 1, 2, 3, 8,  9,  10, 11,
                                                          4, 5, 6, 7, 12, 13, 14, 15};
        return hn::TableLookupBytes(steps, hn::Load(d, order));
    }
    return steps;
}

// The lowest bytes of two vectors, one after the other. If no instruction extracts them from all lanes, both
// are narrowed as one.
HWY_INLINE void store_low_bytes(hn::Vec<I32> a, hn::Vec<I32> b, uint8_t* y) {
    const I32 d;
#if HWY_TARGET <= HWY_AVX3
    hn::StoreU(low_bytes(a), hn::Rebind<uint8_t, I32>(), y);
    hn::StoreU(low_bytes(b), hn::Rebind<uint8_t, I32>(), y + hn::Lanes(d));
#else
    const hn::Repartition<int16_t, I32> wide;
    const hn::Rebind<uint8_t, decltype(wide)> bytes;
    auto low = hn::Set(d, 255);
    auto steps = hn::DemoteTo(bytes, hn::ReorderDemote2To(wide, hn::And(a, low), hn::And(b, low)));
    hn::StoreU(in_order(steps), bytes, y);
#endif
}

// For numbers in the range of i32; Highway's own function handles all.
HWY_INLINE hn::Vec<I32> nearest(Simd x) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Vec<I32>{_mm512_cvtps_epi32(x.v.raw)};
#elif HWY_TARGET <= HWY_AVX2
    return hn::Vec<I32>{_mm256_cvtps_epi32(x.v.raw)};
#else
    return hn::NearestInt(x.v);
#endif
}

// Each stores the steps of contiguous vectors. In the general way:
template <class StepsOf>
struct OneByOne {
    StepsOf steps_of;

    explicit OneByOne(const WantedSteps& s) : steps_of(s) {}
    HWY_INLINE void store(Simd a, Simd b, uint8_t* y) const { store_low_bytes(steps_of(a), steps_of(b), y); }
    HWY_INLINE void store(Simd a, Simd b, Simd c, Simd d, uint8_t* y) const {
        store(a, b, y);
        store(c, d, y + 2 * simd_lanes());
    }
};
// Or with bounds applied last, in i16, where one instruction clips two vectors; or with no bounds if they are
// those of the byte, because narrowing saturates.
template <bool is_signed, bool is_whole_range, class Division = CorrectedEven>
struct BoundedLast {
    using Wide = hn::Repartition<int16_t, I32>;
    using Narrow = hn::Rebind<std::conditional_t<is_signed, int8_t, uint8_t>, Wide>;
    Division division;
    hn::Vec<Wide> zero, lower, upper;

    explicit BoundedLast(const WantedSteps& s)
        : division(s),
          zero(hn::Set(Wide(), int16_t(s.zero))),
          lower(hn::Set(Wide(), int16_t(s.lowest() + s.zero))),
          upper(hn::Set(Wide(), int16_t(s.upper))) {}
    HWY_INLINE hn::Vec<Wide> steps(Simd a, Simd b) const {
        auto both =
            hn::ReorderDemote2To(Wide(), nearest(division.quotient(a)), nearest(division.quotient(b)));
        both = hn::SaturatedAdd(both, zero);
        return is_whole_range ? both : hn::Min(hn::Max(both, lower), upper);
    }
#if HWY_TARGET <= HWY_AVX3
    // Lanes have four of each vector; all of a vector come together.
    static HWY_INLINE hn::Vec<hn::ScalableTag<uint8_t>> narrowed(hn::Vec<Wide> ab, hn::Vec<Wide> cd) {
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        __m512i all = is_signed ? _mm512_packs_epi16(ab.raw, cd.raw) : _mm512_packus_epi16(ab.raw, cd.raw);
        return hn::Vec<hn::ScalableTag<uint8_t>>{_mm512_permutexvar_epi32(order, all)};
    }
#endif
    HWY_INLINE void store_wide(hn::Vec<Wide> both, uint8_t* y) const {
        const hn::Rebind<uint8_t, Wide> bytes;
        hn::StoreU(in_order(hn::BitCast(bytes, hn::DemoteTo(Narrow(), both))), bytes, y);
    }
    HWY_INLINE void store(Simd a, Simd b, uint8_t* y) const {
#if HWY_TARGET <= HWY_AVX3
        auto ab = steps(a, b);
        hn::StoreU(hn::LowerHalf(narrowed(ab, ab)), hn::Half<hn::ScalableTag<uint8_t>>(), y);
#else
        store_wide(steps(a, b), y);
#endif
    }
    HWY_INLINE void store(Simd a, Simd b, Simd c, Simd d, uint8_t* y) const {
        auto ab = steps(a, b), cd = steps(c, d);
#if HWY_TARGET <= HWY_AVX3
        hn::StoreU(narrowed(ab, cd), hn::ScalableTag<uint8_t>(), y);
#elif HWY_TARGET == HWY_AVX2
        // The first four of each vector from both lanes.
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        __m256i all = is_signed ? _mm256_packs_epi16(ab.raw, cd.raw) : _mm256_packus_epi16(ab.raw, cd.raw);
        hn::StoreU(hn::Vec<hn::ScalableTag<uint8_t>>{_mm256_permutevar8x32_epi32(all, order)},
                   hn::ScalableTag<uint8_t>(), y);
#else
        store_wide(ab, y);
        store_wide(cd, y + 2 * simd_lanes());
#endif
    }
};

// f of the one for bounds that come last.
template <class Division = CorrectedEven, class F>
HWY_INLINE auto with_bounds_last(const WantedSteps& wanted, bool is_signed, const F& f) {
    bool is_whole_range = wanted.lowest() + wanted.zero == (is_signed ? -128.f : 0.f) &&
                          wanted.upper == (is_signed ? 127.f : 255.f);
    if (is_signed)
        return is_whole_range ? f(std::type_identity<BoundedLast<true, true, Division>>())
                              : f(std::type_identity<BoundedLast<true, false, Division>>());
    return is_whole_range ? f(std::type_identity<BoundedLast<false, true, Division>>())
                          : f(std::type_identity<BoundedLast<false, false, Division>>());
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
