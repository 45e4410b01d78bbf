// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/quantise_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cmath>
#include <cstring>

#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/make_steps.h"
#include "libmge/kernel/cpu/rows/map_bytes.h"
#include "libmge/kernel/cpu/rows/quantise_rows.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t max_lanes = 16;

// NaN stays.
HWY_INLINE Simd clipped(Simd step, Simd lower, Simd upper) {
    return select(step < lower, lower, select(step > upper, upper, step));
}

// The last ones go through a vector of their own.
template <class StepsOf>
void to_bytes(const float* x, uint8_t* y, int64_t n, const StepsOf& steps_of) {
    const hn::Rebind<uint8_t, I32> bytes;
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes)
        store_low_bytes(steps_of(Simd::load(x + i)), steps_of(Simd::load(x + i + lanes)), y + i);
    for (; i + lanes <= n; i += lanes) hn::StoreU(low_bytes(steps_of(Simd::load(x + i))), bytes, y + i);
    if (i == n) return;
    HWY_ALIGN float last[max_lanes] = {};
    HWY_ALIGN uint8_t steps[max_lanes];
    std::memcpy(last, x + i, size_t(n - i) * sizeof(float));
    hn::StoreU(low_bytes(steps_of(Simd::load(last))), bytes, steps);
    std::memcpy(y + i, steps, size_t(n - i));
}

template <class T, bool is_even>
void to_steps(const float* x, T* y, int64_t n, const Steps& s) {
    WantedSteps wanted{Activation::none, is_even, s.scale, s.zero, s.lower, s.upper};
    with_steps_of(wanted, [&]<class StepsOf>(std::type_identity<StepsOf>) {
        to_bytes(x, reinterpret_cast<uint8_t*>(y), n, StepsOf(wanted));
    });
}

template <class T>
HWY_INLINE Simd load_wide(const T* x) {
    if constexpr (sizeof(T) == 4)
        return Simd(hn::ConvertTo(F32(), hn::LoadU(I32(), x)));
    else
        return Simd(hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::LoadU(hn::Rebind<T, I32>(), x))));
}

template <class T>
void to_reals(const T* x, float* y, int64_t n, const Steps& s) {
    Simd scale = Simd::fill(s.scale), zero = Simd::fill(s.zero);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) ((load_wide(x + i) - zero) * scale).store(y + i);
    for (; i < n; ++i) y[i] = (float(x[i]) - s.zero) * s.scale;
}

void to_low_byte(const float* x, uint8_t* y, int64_t n) {
    const hn::Rebind<uint8_t, I32> narrow;
    Simd least(-2147483648.0), beyond(2147483648.0);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        Simd v = Simd::load(x + i);
        v = select((v >= least) & (v < beyond), v, least);
        auto whole = hn::And(hn::ConvertTo(I32(), v.v), hn::Set(I32(), 255));
        hn::StoreU(hn::DemoteTo(narrow, whole), narrow, y + i);
    }
    for (; i < n; ++i) y[i] = x[i] >= -0x1p31f && x[i] < 0x1p31f ? uint8_t(int32_t(x[i])) : 0;
}

// Steps of either sign as real numbers.
struct AnySteps {
    hn::Vec<I32> sign;
    Simd scale, zero;

    AnySteps(bool is_signed, float scale_value, float zero_value)
        : sign(hn::Set(I32(), is_signed ? 128 : 0)),
          scale(Simd::fill(scale_value)),
          zero(Simd::fill(zero_value)) {}
    HWY_INLINE Simd operator()(const uint8_t* steps) const {
        auto wide = hn::PromoteTo(I32(), hn::LoadU(hn::Rebind<uint8_t, I32>(), steps));
        return (Simd(hn::ConvertTo(F32(), hn::Sub(hn::Xor(wide, sign), sign))) - zero) * scale;
    }
};

struct UnsignedSteps {
    Simd scale, zero;

    UnsignedSteps(bool, float scale_value, float zero_value)
        : scale(Simd::fill(scale_value)), zero(Simd::fill(zero_value)) {}
    HWY_INLINE Simd operator()(const uint8_t* steps) const { return (load_wide(steps) - zero) * scale; }
};

template <class StepsOf, class More, class RealSteps>
void add_by(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, const StepSum& s,
            const WantedSteps& wanted) {
    const hn::Rebind<uint8_t, I32> bytes;
    const StepsOf steps_of(wanted);
    const More steps_of_more(wanted);
    const RealSteps real_a(s.is_a_signed, s.a_scale, s.a_zero), real_b(s.is_b_signed, s.b_scale, s.b_zero);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    auto sum = [&](int64_t at) { return real_a(a + at) + real_b(b + at); };
    for (; i + 4 * lanes <= n; i += 4 * lanes)
        steps_of_more.store(sum(i), sum(i + lanes), sum(i + 2 * lanes), sum(i + 3 * lanes), y + i);
    for (; i + lanes <= n; i += lanes) hn::StoreU(low_bytes(steps_of(sum(i))), bytes, y + i);
    if (i == n) return;
    HWY_ALIGN uint8_t last[3][max_lanes] = {};
    std::memcpy(last[0], a + i, size_t(n - i));
    std::memcpy(last[1], b + i, size_t(n - i));
    hn::StoreU(low_bytes(steps_of(real_a(last[0]) + real_b(last[1]))), bytes, last[2]);
    std::memcpy(y + i, last[2], size_t(n - i));
}

void add(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, const StepSum& s) {
    WantedSteps wanted{
        s.relu ? Activation::relu : Activation::none, s.is_even, s.y_scale, s.y_zero, s.lower, s.upper};
    float most_a = std::abs(s.a_scale) * (256 + std::abs(s.a_zero));
    float most_b = std::abs(s.b_scale) * (256 + std::abs(s.b_zero));
    auto add_bounded = [&]<class Bounded>(std::type_identity<Bounded>) {
        auto* add = s.is_a_signed || s.is_b_signed ? add_by<CorrectedEven, Bounded, AnySteps>
                                                   : add_by<CorrectedEven, Bounded, UnsignedSteps>;
        add(a, b, y, n, s, wanted);
    };
    if (wanted.may_bound_last(most_a + most_b)) {
        const bool is_short = s.is_short && wanted.lowest() > -256 && wanted.highest() < 256;
        return is_short ? with_bounds_last<ShortEven>(wanted, s.lower < 0, add_bounded)
                        : with_bounds_last(wanted, s.lower < 0, add_bounded);
    }
    with_steps_of(wanted, [&]<class StepsOf>(std::type_identity<StepsOf>) {
        add_by<StepsOf, OneByOne<StepsOf>, AnySteps>(a, b, y, n, s, wanted);
    });
}

// The table is sixteen of sixteen bytes. x ^ (16 * i) is a place in the i-th where the upper half of x is i;
// 112 more, as far as a byte goes, sets the highest bit of all others, for which a look-up gives 0.
template <int vectors>
HWY_INLINE void map_vectors(const uint8_t* x, uint8_t* y, const uint8_t* table) {
    const hn::ScalableTag<uint8_t> bytes;
    const size_t lanes = hn::Lanes(bytes);
    hn::Vec<decltype(bytes)> place[vectors], found[vectors];
    for (int k = 0; k < vectors; ++k) {
        place[k] = hn::LoadU(bytes, x + size_t(k) * lanes);
        found[k] = hn::Zero(bytes);
    }
    const auto none = hn::Set(bytes, 112);
    for (int i = 0; i < 16; ++i) {
        auto part = hn::LoadDup128(bytes, table + 16 * i);
        auto upper = hn::Set(bytes, uint8_t(16 * i));
        for (int k = 0; k < vectors; ++k) {
            auto inside = hn::SaturatedAdd(hn::Xor(place[k], upper), none);
            found[k] = hn::Or(found[k], hn::TableLookupBytesOr0(part, inside));
        }
    }
    for (int k = 0; k < vectors; ++k) hn::StoreU(found[k], bytes, y + size_t(k) * lanes);
}

void map(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table) {
    constexpr int vectors = 4;  // for each load of a part of the table
    const auto lanes = int64_t(hn::Lanes(hn::ScalableTag<uint8_t>()));
    HWY_ALIGN uint8_t parts[256];  // aligned, as LoadDup128 requires
    std::memcpy(parts, table, sizeof(parts));
    int64_t i = 0;
    for (; i + vectors * lanes <= n; i += vectors * lanes) map_vectors<vectors>(x + i, y + i, parts);
    for (; i + lanes <= n; i += lanes) map_vectors<1>(x + i, y + i, parts);
    for (; i < n; ++i) y[i] = parts[x[i]];
}

void fake(const float* x, float* y, int64_t n, const Steps& s, FakeSteps how) {
    bool is_shifted_first = how == FakeSteps::shifted_then_rounded;
    Simd scale = Simd::fill(s.scale), zero = Simd::fill(s.zero), lower = Simd::fill(s.lower);
    Simd upper = Simd::fill(s.upper);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        Simd t = Simd::load(x + i) / scale;
        Simd step = is_shifted_first ? round(t + zero) : round(t) + zero;
        ((clipped(step, lower, upper) - zero) * scale).store(y + i);
    }
    for (; i < n; ++i) {
        float t = x[i] / s.scale;
        float step = is_shifted_first ? std::round(t + s.zero) : std::round(t) + s.zero;
        y[i] = (std::clamp(step, s.lower, s.upper) - s.zero) * s.scale;
    }
}

}  // namespace

QuantiseRows make_quantise_rows() {
    return {to_steps<uint8_t, false>,
            to_steps<int8_t, false>,
            to_steps<uint8_t, true>,
            to_steps<int8_t, true>,
            to_reals<uint8_t>,
            to_reals<int8_t>,
            to_reals<int32_t>,
            to_low_byte,
            add,
            map,
            fake};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_quantise_rows);

const QuantiseRows& quantise_rows() {
    static const QuantiseRows best = [] {
        limit_highway_targets();
        QuantiseRows rows = HWY_DYNAMIC_DISPATCH(make_quantise_rows)();
        if (permutes_bytes()) rows.map = map_by_permutes;
        return rows;
    }();
    return best;
}

}  // namespace mge::cpu
#endif
