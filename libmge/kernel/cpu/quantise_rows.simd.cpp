// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/quantise_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cmath>
#include <cstring>

#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/quantise_rows.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t max_lanes = 16;

// NaN stays.
HWY_INLINE Simd clipped(Simd step, Simd lower, Simd upper) {
    return select(step < lower, lower, select(step > upper, upper, step));
}

template <class T>
void to_steps(const float* x, T* y, int64_t n, const Steps& s) {
    const hn::Rebind<T, I32> narrow;
    float inverse = 1 / s.scale;
    Simd by = Simd::fill(inverse), zero = Simd::fill(s.zero), lower = Simd::fill(s.lower);
    Simd upper = Simd::fill(s.upper);
    const auto lanes = int64_t(simd_lanes());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        Simd step = round(Simd::load(x + i) * by) + zero;
        // NaN becomes the lowest.
        step = select(step > lower, select(step < upper, step, upper), lower);
        hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(I32(), step.v)), narrow, y + i);
    }
    for (; i < n; ++i) {
        float step = std::round(x[i] * inverse) + s.zero;
        y[i] = T(step > s.lower ? (step < s.upper ? step : s.upper) : s.lower);
    }
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

template <class A, class B, class Y>
void add_typed(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, const StepSum& s) {
    const hn::Rebind<Y, I32> narrow;
    Simd a_scale = Simd::fill(s.a_scale), b_scale = Simd::fill(s.b_scale), by = Simd::fill(s.inverse_y_scale);
    Simd a_zero = Simd::fill(s.a_zero), b_zero = Simd::fill(s.b_zero), y_zero = Simd::fill(s.y_zero);
    Simd lower = Simd::fill(s.lower), upper = Simd::fill(s.upper), zero(0.0);
    const auto lanes = int64_t(simd_lanes());
    auto steps = [&](Simd x) {
        if (s.relu) x = select(x > zero, x, zero);
        Simd step = round(x * by) + y_zero;
        return select(step > lower, select(step < upper, step, upper), lower);
    };
    for (int64_t i = 0; i < n; i += lanes) {
        HWY_ALIGN uint8_t last[3][max_lanes];
        const uint8_t *from_a = a + i, *from_b = b + i;
        uint8_t* to = y + i;
        bool is_last = i + lanes > n;
        if (is_last) {  // what is left goes through a vector of its own
            std::memcpy(last[0], from_a, size_t(n - i));
            std::memcpy(last[1], from_b, size_t(n - i));
            from_a = last[0], from_b = last[1], to = last[2];
        }
        Simd real_a = (load_wide(reinterpret_cast<const A*>(from_a)) - a_zero) * a_scale;
        Simd real_b = (load_wide(reinterpret_cast<const B*>(from_b)) - b_zero) * b_scale;
        auto whole = hn::ConvertTo(I32(), steps(real_a + real_b).v);
        hn::StoreU(hn::DemoteTo(narrow, whole), narrow, reinterpret_cast<Y*>(to));
        if (is_last) std::memcpy(y + i, last[2], size_t(n - i));
    }
}

void add(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, const StepSum& s) {
    using Function = void (*)(const uint8_t*, const uint8_t*, uint8_t*, int64_t, const StepSum&);
    constexpr Function functions[] = {
        add_typed<uint8_t, uint8_t, uint8_t>, add_typed<uint8_t, uint8_t, int8_t>,
        add_typed<uint8_t, int8_t, uint8_t>,  add_typed<uint8_t, int8_t, int8_t>,
        add_typed<int8_t, uint8_t, uint8_t>,  add_typed<int8_t, uint8_t, int8_t>,
        add_typed<int8_t, int8_t, uint8_t>,   add_typed<int8_t, int8_t, int8_t>};
    functions[4 * s.is_a_signed + 2 * s.is_b_signed + s.is_y_signed](a, b, y, n, s);
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
    return {to_steps<uint8_t>,
            to_steps<int8_t>,
            to_reals<uint8_t>,
            to_reals<int8_t>,
            to_reals<int32_t>,
            to_low_byte,
            add,
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
        return HWY_DYNAMIC_DISPATCH(make_quantise_rows)();
    }();
    return best;
}

}  // namespace mge::cpu
#endif
