// SPDX-License-Identifier: Apache-2.0
// The operations of kernel/scalar on vectors of f32, over Highway. Included by *.simd.cpp files after
// foreach_target.h and once per instruction set, so it has no #pragma once. Highway's mathematical functions
// are accurate in their domains but not at NaN, infinities and poles, which are corrected here.

#if defined(MGE_KERNEL_CPU_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_SIMD_H
#undef MGE_KERNEL_CPU_SIMD_H
#else
#define MGE_KERNEL_CPU_SIMD_H
#endif

#include <cmath>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/keep_nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using F32Vec = hn::Vec<F32>;
using F32Mask = hn::Mask<F32>;

struct SimdMask {
    F32Mask v;
};
struct Simd {
    F32Vec v;
    HWY_INLINE explicit Simd(F32Vec vec) : v(vec) {}
    HWY_INLINE explicit Simd(double constant) : v(hn::Set(F32(), float(constant))) {}
    HWY_INLINE static Simd load(const float* p) { return Simd(hn::LoadU(F32(), p)); }
    HWY_INLINE static Simd fill(float x) { return Simd(hn::Set(F32(), x)); }
    HWY_INLINE void store(float* p) const { hn::StoreU(v, F32(), p); }
};
HWY_INLINE size_t simd_lanes() { return hn::Lanes(F32()); }

HWY_INLINE Simd operator+(Simd a, Simd b) { return Simd(hn::Add(a.v, b.v)); }
HWY_INLINE Simd operator-(Simd a, Simd b) { return Simd(hn::Sub(a.v, b.v)); }
HWY_INLINE Simd operator*(Simd a, Simd b) { return Simd(hn::Mul(a.v, b.v)); }
HWY_INLINE Simd operator/(Simd a, Simd b) { return Simd(hn::Div(a.v, b.v)); }
HWY_INLINE Simd operator-(Simd x) { return Simd(hn::Neg(x.v)); }
HWY_INLINE SimdMask operator==(Simd a, Simd b) { return {hn::Eq(a.v, b.v)}; }
// Highway's Ne is not used, because on AVX-512 it says that NaN equals NaN.
HWY_INLINE SimdMask operator!=(Simd a, Simd b) { return {hn::Not(hn::Eq(a.v, b.v))}; }
HWY_INLINE SimdMask operator<(Simd a, Simd b) { return {hn::Lt(a.v, b.v)}; }
HWY_INLINE SimdMask operator<=(Simd a, Simd b) { return {hn::Le(a.v, b.v)}; }
HWY_INLINE SimdMask operator>(Simd a, Simd b) { return {hn::Gt(a.v, b.v)}; }
HWY_INLINE SimdMask operator>=(Simd a, Simd b) { return {hn::Ge(a.v, b.v)}; }
HWY_INLINE SimdMask operator&(SimdMask a, SimdMask b) { return {hn::And(a.v, b.v)}; }
HWY_INLINE SimdMask operator|(SimdMask a, SimdMask b) { return {hn::Or(a.v, b.v)}; }
HWY_INLINE SimdMask operator!(SimdMask a) { return {hn::Not(a.v)}; }
HWY_INLINE Simd select(SimdMask m, Simd yes, Simd no) { return Simd(hn::IfThenElse(m.v, yes.v, no.v)); }
HWY_INLINE bool all(SimdMask m) { return hn::AllTrue(F32(), m.v); }

HWY_INLINE Simd multiply_add(Simd a, Simd b, Simd c) { return Simd(hn::MulAdd(a.v, b.v, c.v)); }
HWY_INLINE Simd abs(Simd x) { return Simd(hn::Abs(x.v)); }
HWY_INLINE Simd ceil(Simd x) { return Simd(hn::Ceil(x.v)); }
HWY_INLINE Simd floor(Simd x) { return Simd(hn::Floor(x.v)); }
HWY_INLINE Simd truncate(Simd x) { return Simd(hn::Trunc(x.v)); }
HWY_INLINE Simd sqrt(Simd x) { return Simd(hn::Sqrt(x.v)); }
HWY_INLINE Simd copy_sign(Simd magnitude, Simd sign) { return Simd(hn::CopySign(magnitude.v, sign.v)); }
HWY_INLINE SimdMask is_nan(Simd x) { return {hn::IsNaN(x.v)}; }
HWY_INLINE SimdMask is_infinite(Simd x) { return abs(x) == Simd(HUGE_VAL); }
HWY_INLINE Simd nan() { return Simd(double(NAN)); }
HWY_INLINE Simd infinity() { return Simd(HUGE_VAL); }

// x + 0.5 would round up the largest number below one half, so the fraction is looked at instead.
HWY_INLINE Simd round(Simd x) {
    Simd whole = truncate(x), one(1.0);
    Simd up = select(abs(x - whole) >= Simd(0.5), one, Simd(0.0));
    return select(abs(x) < Simd(8388608.0), copy_sign(abs(whole) + up, x), x);
}
HWY_INLINE Simd round_to_even(Simd x) { return Simd(hn::Round(x.v)); }
HWY_INLINE Simd floor_divide(Simd a, Simd b) { return floor(a / b); }

// Asks the C library, lane by lane: for rare arguments and functions that have no vector form.
template <class Fn>
HWY_NOINLINE Simd lanewise(Simd x, Fn fn) {
    HWY_ALIGN float lanes[hn::MaxLanes(F32())];
    x.store(lanes);
    for (size_t i = 0; i < simd_lanes(); ++i) lanes[i] = fn(lanes[i]);
    return Simd::load(lanes);
}
template <class Fn>
HWY_NOINLINE Simd lanewise(Simd x, Simd y, Fn fn) {
    HWY_ALIGN float a[hn::MaxLanes(F32())], b[hn::MaxLanes(F32())];
    x.store(a);
    y.store(b);
    for (size_t i = 0; i < simd_lanes(); ++i) a[i] = fn(a[i], b[i]);
    return Simd::load(a);
}
// a - trunc(a / b) b is exact for small quotients. So is adding one b if the quotient was rounded up.
HWY_INLINE Simd modulo(Simd a, Simd b) {
    Simd x = abs(a), y = abs(b), quotient = truncate(x / y), rest(hn::NegMulAdd(quotient.v, y.v, x.v));
    rest = copy_sign(select(rest < Simd(0.0), rest + y, rest), a);
    SimdMask good = (quotient < Simd(HWY_NATIVE_FMA ? 8388608.0 : 0.0)) & (y < infinity());
    if (HWY_LIKELY(all(good))) return rest;
    return select(good, rest, lanewise(a, b, [](float u, float v) { return std::fmod(u, v); }));
}

template <size_t N>
HWY_INLINE Simd polynomial(Simd x, const float (&coefficients)[N]) {
    Simd y = Simd::fill(coefficients[N - 1]);
    for (size_t i = N - 1; i-- > 0;) y = multiply_add(y, x, Simd::fill(coefficients[i]));
    return y;
}

// --- exponentials and logarithms ---

constexpr double exp_overflow = 88.72284;  // e^x is infinite above
// e^x is 0 below: a subnormal result would take a vector a hundred times as long, even if it is rounded to 0.
constexpr double exp_underflow = -87.33654;

// e^r for r = x - n ln 2, |r| ≤ ln 2 / 2; the polynomial by a weighted fit, relative error 7e-8 in f32
HWY_INLINE Simd exp_of_rest(Simd x, Simd n) {
    constexpr float p[] = {
        1.0f, 1.0f, 4.999999343e-01f, 1.666652040e-01f, 4.166839066e-02f, 8.368745372e-03f, 1.381454741e-03f};
    Simd r(hn::NegMulAdd(n.v, hn::Set(F32(), 0.693145752f), x.v));  // ln 2 in two parts
    return polynomial(Simd(hn::NegMulAdd(n.v, hn::Set(F32(), 1.42860677e-6f), r.v)), p);
}
// e^x = 2^n e^r, n = x / ln 2 rounded
HWY_INLINE Simd exp(Simd x) {
    constexpr double log2_e = 1.4426950408889634;
    const SimdMask is_zero = x < Simd(exp_underflow);
    auto below_infinity = [](Simd a)
                              HWY_ATTR { return Simd(at_most(hn::Set(F32(), 89.f), a.v)); };  // NaN stays
#if HWY_TARGET <= HWY_AVX3  // one instruction: silu takes 0.25 ns instead of 0.36, exp 0.21 instead of 0.29
    x = below_infinity(x);
    Simd n(hn::Round((x * Simd(log2_e)).v));
    return Simd(F32Vec{_mm512_maskz_scalef_ps(hn::Not(is_zero.v).raw, exp_of_rest(x, n).v.raw, n.v.raw)});
#else
    // n is in the last bits of a sum of this size. If all results are normal numbers, it is added to the
    // exponent's bits from there; a number's result is the same on both paths. On a Zen 3 exp takes 0.26 ns
    // instead of 0.46, silu 0.38 instead of 0.61.
    const Simd moderate(86.0), three_halves_of_2_23(12582912.0);
    const bool is_moderate = all(abs(x) <= moderate);
    if (HWY_UNLIKELY(!is_moderate)) x = below_infinity(select(is_zero, Simd(0.0), x));
    Simd sum = multiply_add(x, Simd(log2_e), three_halves_of_2_23), n = sum - three_halves_of_2_23;
    Simd y = exp_of_rest(x, n);
    const I32 i32;
    if (HWY_UNLIKELY(!is_moderate)) {
        // 2^n in two steps, because 2^128 is no normal number.
        auto power = [&](auto whole) HWY_ATTR {
            return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(whole, hn::Set(i32, 127))));
        };
        auto whole = hn::ConvertTo(i32, n.v), half = hn::ShiftRight<1>(whole);
        return select(is_zero, Simd(0.0),
                      Simd(hn::Mul(hn::Mul(y.v, power(half)), power(hn::Sub(whole, half)))));
    }
    auto power = hn::ShiftLeft<23>(hn::BitCast(i32, sum.v));
    return Simd(hn::BitCast(F32(), hn::Add(hn::BitCast(i32, y.v), power)));
#endif
}
// 2^(x c) = 2^n 2^f, n + f = x c; the polynomial of 2^f for |f| ≤ 1/2 by a weighted fit, relative error 8e-8.
// For x c above -127.5, where 2^n is 0, and below 128.5, where it is infinity.
struct PowerOfTwo {
    Simd whole, fraction;  // 2^n, 2^f
};
HWY_INLINE PowerOfTwo power_of_two(Simd x, Simd c) {
    constexpr float p[] = {
        1.0f, 6.931469645e-01f, 2.402211550e-01f, 5.550715695e-02f, 9.675769951e-03f, 1.327624390e-03f};
    // Added to n they leave n + 127, which is the exponent of 2^n, in the last bits.
    const Simd three_halves_of_2_23_and_127(12582912.0 + 127);
    Simd sum = multiply_add(x, c, three_halves_of_2_23_and_127);
    Simd n = sum - three_halves_of_2_23_and_127, f(hn::MulSub(x.v, c.v, n.v));
    Simd whole(hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(I32(), sum.v))));
    return {whole, polynomial(f, p)};
}
// 1 + e^-x, where a subnormal e^-x is 0 and an overflow is infinity. With the following quotient silu takes
// 0.55 of the time that it takes with exp, on a Zen 3.
HWY_INLINE Simd one_and_exp_of_negative(Simd x) {
    Simd within(at_most(hn::Set(F32(), 88.f), at_least(hn::Set(F32(), -89.f), x.v)));  // NaN stays
    auto [whole, fraction] = power_of_two(within, Simd(-1.4426950408889634));          // -1 / ln 2
    return multiply_add(fraction, whole, Simd(1.0));
}
HWY_INLINE Simd expm1(Simd x) {
    // -1 in f32 below; Highway would compute a subnormal e^x there.
    Simd y(hn::Expm1(F32(), at_least(hn::Set(F32(), -80.f), x.v)));
    y = select(x > Simd(exp_overflow), infinity(), y);
    return select(is_nan(x), x, y);
}
HWY_INLINE Simd log(Simd x) {
    Simd y(hn::Log(F32(), x.v));
    y = select(x < infinity(), y, x);  // infinity and NaN stay
    y = select(x == Simd(0.0), -infinity(), y);
    return select(x < Simd(0.0), nan(), y);
}
HWY_INLINE Simd log1p(Simd x) {
    Simd y(hn::Log1p(F32(), x.v));
    y = select(x < infinity(), y, x);
    y = select(x == Simd(-1.0), -infinity(), y);
    return select(x < Simd(-1.0), nan(), y);
}

// --- trigonometric and hyperbolic functions ---

// Highway's range reduction ends here.
constexpr double trigonometric_limit = 39000;

template <class Fn>
HWY_INLINE Simd patch(SimdMask good, Simd y, Simd x, Fn fn) {
    if (HWY_LIKELY(all(good))) return y;
    return select(good, y, lanewise(x, fn));
}
HWY_INLINE Simd sin(Simd x) {
    return patch(abs(x) <= Simd(trigonometric_limit), Simd(hn::Sin(F32(), x.v)), x,
                 [](float a) { return std::sin(a); });
}
HWY_INLINE Simd cos(Simd x) {
    return patch(abs(x) <= Simd(trigonometric_limit), Simd(hn::Cos(F32(), x.v)), x,
                 [](float a) { return std::cos(a); });
}
HWY_INLINE Simd tan(Simd x) { return sin(x) / cos(x); }
HWY_INLINE Simd asin(Simd x) { return Simd(hn::Asin(F32(), x.v)); }
HWY_INLINE Simd acos(Simd x) { return Simd(hn::Acos(F32(), x.v)); }
HWY_INLINE Simd atan(Simd x) { return Simd(hn::Atan(F32(), x.v)); }
HWY_INLINE Simd sinh(Simd x) {
    // e^x = e^(x/2) e^(x/2): the product halved overflows only where sinh does
    Simd half = exp(abs(x) * Simd(0.5)), large = copy_sign(Simd(0.5) * half * half, x);
    return select(abs(x) < Simd(10.0), Simd(hn::Sinh(F32(), x.v)), large);
}
HWY_INLINE Simd cosh(Simd x) {
    Simd half = exp(abs(x) * Simd(0.5));
    return Simd(0.5) * half * half + Simd(0.5) / (half * half);
}
// tanh(x) = x p(x²) / q(x²) up to where it is 1 in f32; p and q by a weighted rational fit, relative error
// 4e-7 in f32
HWY_INLINE Simd tanh(Simd x) {
    constexpr float p[] = {9.999999772e-01f, 1.337447439e-01f, 3.487810156e-03f, 2.048117404e-05f,
                           1.317750802e-08f};
    constexpr float q[] = {1.0f, 4.670778816e-01f, 2.584738503e-02f, 3.272918820e-04f, 7.704039596e-07f};
    Simd one(1.0), size = abs(x), limit(9.1);
    size = select(size > limit, limit, size);  // NaN stays
    Simd square = size * size, y = size * polynomial(square, p) / polynomial(square, q);
    return copy_sign(select(y > one, one, y), x);
}
HWY_INLINE Simd asinh(Simd x) { return select(abs(x) < infinity(), Simd(hn::Asinh(F32(), x.v)), x); }
HWY_INLINE Simd acosh(Simd x) {
    Simd y = select(x < infinity(), Simd(hn::Acosh(F32(), x.v)), x);
    return select(x < Simd(1.0), nan(), y);
}
HWY_INLINE Simd atanh(Simd x) {
    Simd one(1.0), y(hn::Atanh(F32(), x.v));
    y = select(abs(x) < one, y, nan());
    return select(abs(x) == one, copy_sign(infinity(), x), y);
}

// --- error function ---

// erf(x) = x p(x²) for |x| ≤ 1; p by a weighted Chebyshev fit, relative error 2e-7 in f32
HWY_INLINE Simd erf_near_zero(Simd x) {
    constexpr float p[] = {1.128379166e+00f, -3.761262557e-01f, 1.128358225e-01f, -2.685369110e-02f,
                           5.188098890e-03f, -8.008189329e-04f, 7.847259149e-05f};
    return x * polynomial(x * x, p);
}
// erfc(x) = e^(-x²) t q(t), t = 1 / (1 + x/2), for x ≥ 0; q by a weighted Chebyshev fit of the scaled
// complementary error function on [0, 10.6], relative error 4e-7 in f32
HWY_INLINE Simd erfc_positive(Simd x) {
    constexpr float q[] = {2.820818374e-01f,  2.824634877e-01f,  2.424054341e-01f,
                           2.056673971e-01f,  -3.415671460e-02f, 2.896586674e-01f,
                           -4.978644218e-01f, 2.899615728e-01f,  -6.021731127e-02f};
    Simd limit(11.0);  // 0 in f32 from here on
    x = select(x > limit, limit, x);
    Simd t = Simd(1.0) / (Simd(1.0) + Simd(0.5) * x), square = x * x;
    Simd rest(hn::MulSub(x.v, x.v, square.v));  // the rounding error of the square
    return exp(-square) * (Simd(1.0) - rest) * t * polynomial(t, q);
}
HWY_INLINE Simd erf(Simd x) {
    Simd far = copy_sign(Simd(1.0) - erfc_positive(abs(x)), x);
    return select(abs(x) <= Simd(1.0), erf_near_zero(x), far);
}
// The normal distribution: Φ(x), and e^(-x²/2) as an intermediate result. Φ(-a) = e^(-a²/2) p(a) / q(a) for a
// ≥ 0; p and q by a weighted rational fit of the quotient on [0, 13.3], relative error 1e-7. The exponential
// multiplies the rounding error of a² by a²/2.
struct NormalCdf {
    Simd cdf, exp;
};
HWY_INLINE NormalCdf normal_cdf_and_exp(Simd x) {
    constexpr float p[] = {4.999999518e-01f, 3.444316502e-01f, 1.095751742e-01f, 1.472222339e-02f};
    constexpr float q[] = {1.0f, 1.486742305e+00f, 9.054504710e-01f, 2.742925156e-01f, 3.691430340e-02f};
    Simd a(at_most(hn::Set(F32(), 13.27f), abs(x).v));                         // at this point 2^n is 0; NaN
                                                                               // is kept
    auto [whole, fraction] = power_of_two(a * a, Simd(-0.72134752044448170));  // -1 / (2 ln 2)
    Simd y = fraction * whole, tail = y * (polynomial(a, p) / polynomial(a, q));
    return {select(x < Simd(0.0), tail, Simd(1.0) - tail), y};
}
HWY_INLINE Simd normal_cdf(Simd x) { return normal_cdf_and_exp(x).cdf; }
// Φ(x) + x φ(x), φ(x) = e^(-x²/2) / √(2π): one exponential serves both
HWY_INLINE Simd gelu_slope(Simd x) {
    auto [cdf, density] = normal_cdf_and_exp(x);
    return multiply_add(x, density * Simd(0.39894228040143268), cdf);
}

// --- functions of two arguments ---

// atan of the smaller over the larger, then the octant. Zeros and infinities go to the C library.
HWY_INLINE Simd atan2(Simd y, Simd x) {
    Simd ax = abs(x), ay = abs(y);
    SimdMask steep = ay > ax;
    Simd large = select(steep, ay, ax), small = select(steep, ax, ay);
    Simd angle = atan(small / large);
    angle = select(steep, Simd(1.5707963267948966) - angle, angle);
    angle = copy_sign(select(x < Simd(0.0), Simd(3.1415926535897932) - angle, angle), y);
    SimdMask good = (large > Simd(0.0)) & (large < infinity()) & (ax == ax) & (ay == ay) & (ax > Simd(0.0));
    if (HWY_LIKELY(all(good))) return angle;
    return select(good, angle, lanewise(y, x, [](float a, float b) { return std::atan2(a, b); }));
}

using F64 = hn::Repartition<double, F32>;
using HalfF32 = hn::Half<F32>;
HWY_INLINE hn::VFromD<HalfF32> pow_half(hn::VFromD<HalfF32> a, hn::VFromD<HalfF32> b) {
    F64 d;
    auto power = hn::Mul(hn::PromoteTo(d, b), hn::Log(d, hn::PromoteTo(d, a)));
    // Beyond ±200 the result is 0 or infinity in f32 and still a number in f64.
    power = hn::Min(hn::Max(power, hn::Set(d, -200.0)), hn::Set(d, 200.0));
    return hn::DemoteTo(HalfF32(), hn::Exp(d, power));
}
// a^b = e^(b log a) in f64, because f32 would lose the digits of large powers; negative bases by the parity
// of b. Other cases (a = ±0, infinities, NaN, roots of negative numbers) use the C library.
HWY_INLINE Simd pow(Simd a, Simd b) {
    F32 d;
    Simd base = abs(a);
    auto low = pow_half(hn::LowerHalf(HalfF32(), base.v), hn::LowerHalf(HalfF32(), b.v));
    auto high = pow_half(hn::UpperHalf(HalfF32(), base.v), hn::UpperHalf(HalfF32(), b.v));
    Simd y(hn::Combine(d, high, low));
    SimdMask is_whole = truncate(b) == b;
    SimdMask is_odd = is_whole & (truncate(b * Simd(0.5)) * Simd(2.0) != b);
    y = select(is_odd & (a < Simd(0.0)), -y, y);
    SimdMask good =
        (base > Simd(0.0)) & (base < infinity()) & (abs(b) < infinity()) & ((a > Simd(0.0)) | is_whole);
    if (HWY_LIKELY(all(good))) return y;
    return select(good, y, lanewise(a, b, [](float x, float e) { return std::pow(x, e); }));
}

// --- loops over rows ---

// The functors of kernel/scalar, for these vectors.
namespace functor {
#include "libmge/kernel/scalar/activation.inc"
#include "libmge/kernel/scalar/arithmetic.inc"
#include "libmge/kernel/scalar/comparison.inc"
#include "libmge/kernel/scalar/exponential.inc"
#include "libmge/kernel/scalar/trigonometric.inc"

template <>
HWY_INLINE Simd Sigmoid::operator()(Simd x) const {
    return Simd(1.0) / one_and_exp_of_negative(x);
}
template <>
HWY_INLINE Simd Silu::operator()(Simd x) const {
    return x / one_and_exp_of_negative(x);
}
}  // namespace functor

// Writes a vector of results: numbers as f32, masks as bytes 0 and 1.
HWY_INLINE void store_result(Simd y, float* out) { y.store(out); }
HWY_INLINE void store_result(SimdMask y, bool* out) {
    const hn::RebindToSigned<F32> words;
    const hn::Rebind<uint8_t, F32> bytes;
    auto ones = hn::IfThenElseZero(hn::RebindMask(words, y.v), hn::Set(words, 1));
    hn::StoreU(hn::DemoteTo(bytes, ones), bytes, reinterpret_cast<uint8_t*>(out));
}
template <class R>
struct ElementOf;
template <>
struct ElementOf<Simd> {
    using Type = float;
};
template <>
struct ElementOf<SimdMask> {
    using Type = bool;
};

template <class F>
HWY_INLINE void run_row(F f, const float* x, int64_t n, auto* out) {
    const int64_t lanes = int64_t(simd_lanes());
    int64_t i = 0;
#if HWY_TARGET == HWY_NEON  // two at a time: the loop's own instructions are a tenth of those of silu
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const Simd a = Simd::load(x + i), b = Simd::load(x + i + lanes);
        const auto y = f(a), z = f(b);
        store_result(y, out + i);
        store_result(z, out + i + lanes);
    }
#endif
    for (; i + lanes <= n; i += lanes) store_result(f(Simd::load(x + i)), out + i);
    if (i == n) return;
    HWY_ALIGN float rest[hn::MaxLanes(F32())] = {};
    std::remove_pointer_t<decltype(out)> result[hn::MaxLanes(F32())];
    for (int64_t j = 0; j < n - i; ++j) rest[j] = x[i + j];
    store_result(f(Simd::load(rest)), result);
    for (int64_t j = 0; j < n - i; ++j) out[i + j] = result[j];
}
template <bool ScalarX, bool ScalarY, class F>
HWY_INLINE void run_row(F f, const float* x, const float* y, int64_t n, auto* out) {
    const int64_t lanes = int64_t(simd_lanes());
    Simd a = Simd::fill(*x), b = Simd::fill(*y);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        if constexpr (!ScalarX) a = Simd::load(x + i);
        if constexpr (!ScalarY) b = Simd::load(y + i);
        store_result(f(a, b), out + i);
    }
    if (i == n) return;
    HWY_ALIGN float rest_x[hn::MaxLanes(F32())] = {}, rest_y[hn::MaxLanes(F32())] = {};
    std::remove_pointer_t<decltype(out)> result[hn::MaxLanes(F32())];
    for (int64_t j = 0; j < n - i; ++j) rest_x[j] = x[ScalarX ? 0 : i + j];
    for (int64_t j = 0; j < n - i; ++j) rest_y[j] = y[ScalarY ? 0 : i + j];
    store_result(f(Simd::load(rest_x), Simd::load(rest_y)), result);
    for (int64_t j = 0; j < n - i; ++j) out[i + j] = result[j];
}

template <class F>
void unary_rows(const Rows& r) {
    using T = typename ElementOf<decltype(F{}(Simd(0.0)))>::Type;
    F f = *static_cast<const F*>(r.functor);
    for (int64_t row = 0; row < r.rows; ++row) {
        if (r.is_scalar[0] && r.n > 1) {  // an expanded input: compute once, repeat
            T value;
            run_row(f, r.input<float>(0, row), 1, &value);
            for (int64_t i = 0; i < r.n; ++i) r.output<T>(row)[i] = value;
        } else {
            run_row(f, r.input<float>(0, row), r.n, r.output<T>(row));
        }
    }
}
// Rows of N vectors each, as blocks of channels are.
template <int N, class F>
HWY_INLINE void vector_rows(F f, const Rows& r, auto* out) {
    const char *x = r.in[0], *y = r.in[1];
    const int64_t x_step = r.row_stride[0], y_step = r.row_stride[1], out_step = r.out_stride;
    for (int64_t row = r.rows; row > 0; --row, x += x_step, y += y_step) {
#pragma GCC unroll 2
        for (int v = 0; v < N; ++v) {
            const int64_t at = v * int64_t(simd_lanes());
            Simd a = Simd::load(reinterpret_cast<const float*>(x) + at);
            store_result(f(a, Simd::load(reinterpret_cast<const float*>(y) + at)), out + at);
        }
        out = reinterpret_cast<decltype(out)>(reinterpret_cast<char*>(out) + out_step);
    }
}

template <class F>
void binary_rows(const Rows& r) {
    using T = typename ElementOf<decltype(F{}(Simd(0.0), Simd(0.0)))>::Type;
    F f = *static_cast<const F*>(r.functor);
    if (r.n == int64_t(simd_lanes()) && !r.is_scalar[0] && !r.is_scalar[1])
        return vector_rows<1>(f, r, r.output<T>(0));
    if constexpr (hn::MaxLanes(F32()) == 4)  // blocks have eight channels
        if (r.n == 8 && !r.is_scalar[0] && !r.is_scalar[1]) return vector_rows<2>(f, r, r.output<T>(0));
    for (int64_t row = 0; row < r.rows; ++row) {
        auto *x = r.input<float>(0, row), *y = r.input<float>(1, row);
        T* out = r.output<T>(row);
        if (r.is_scalar[0])
            run_row<true, false>(f, x, y, r.is_scalar[1] ? 1 : r.n, out);
        else if (r.is_scalar[1])
            run_row<false, true>(f, x, y, r.n, out);
        else
            run_row<false, false>(f, x, y, r.n, out);
        if (r.is_scalar[0] && r.is_scalar[1])
            for (int64_t i = 1; i < r.n; ++i) out[i] = out[0];
    }
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
