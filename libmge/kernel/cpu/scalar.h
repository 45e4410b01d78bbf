// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations of kernel/scalar on one number at a time, for references and integer loops. Integers wrap
// around; division of an integer by zero gives zero.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "libmge/tensor/dtype.h"

namespace mge::cpu {

struct Mask {
    bool v;
};

// The unsigned type in which an integer type wraps without undefined behaviour.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;

// T is float, double or an integer type; bools travel as uint8_t, halves as float.
template <class T>
struct Scalar {
    T v;
    Scalar() = default;
    // A constant of a formula; integers take the nearest value they have, and 0 for NaN, as a GPU does.
    explicit Scalar(double constant) {
        if constexpr (is_integer<T>) {
            using Limits = std::numeric_limits<T>;
            v = constant >= double(Limits::max())   ? Limits::max()
                : constant <= double(Limits::min()) ? Limits::min()
                : constant != constant              ? T(0)
                                                    : T(constant);
        } else {
            v = T(constant);
        }
    }
    static Scalar of(std::same_as<T> auto value) {
        Scalar s;
        s.v = value;
        return s;
    }

    template <class Fn>
    static Scalar wrapped(Scalar a, Scalar b, Fn fn) {
        if constexpr (is_integer<T>)
            return of(T(fn(Wrapping<T>(a.v), Wrapping<T>(b.v))));
        else
            return of(fn(a.v, b.v));
    }
    friend Scalar operator+(Scalar a, Scalar b) {
        return wrapped(a, b, [](auto x, auto y) { return x + y; });
    }
    friend Scalar operator-(Scalar a, Scalar b) {
        return wrapped(a, b, [](auto x, auto y) { return x - y; });
    }
    friend Scalar operator*(Scalar a, Scalar b) {
        return wrapped(a, b, [](auto x, auto y) { return x * y; });
    }
    friend Scalar operator-(Scalar x) {
        if constexpr (is_integer<T>)
            return of(T(Wrapping<T>(0) - Wrapping<T>(x.v)));
        else
            return of(-x.v);
    }
    friend Scalar operator/(Scalar a, Scalar b) requires std::floating_point<T> { return of(a.v / b.v); }

    friend Mask operator==(Scalar a, Scalar b) { return {a.v == b.v}; }
    friend Mask operator!=(Scalar a, Scalar b) { return {a.v != b.v}; }
    friend Mask operator<(Scalar a, Scalar b) { return {a.v < b.v}; }
    friend Mask operator<=(Scalar a, Scalar b) { return {a.v <= b.v}; }
    friend Mask operator>(Scalar a, Scalar b) { return {a.v > b.v}; }
    friend Mask operator>=(Scalar a, Scalar b) { return {a.v >= b.v}; }
    // Chooses a number, not a struct: GCC makes the latter a branch and leaves the loop scalar.
    friend Scalar select(Mask m, Scalar yes, Scalar no) {
        Scalar y;
        y.v = m.v ? yes.v : no.v;
        return y;
    }

    // --- integers ---

    friend Scalar operator&(Scalar a, Scalar b) { return of(T(a.v & b.v)); }
    friend Scalar operator|(Scalar a, Scalar b) { return of(T(a.v | b.v)); }
    friend Scalar operator^(Scalar a, Scalar b) { return of(T(a.v ^ b.v)); }
    // Shifts by less than zero or by the width and more push everything out.
    bool is_shift() const { return v >= 0 && uint64_t(v) < 8 * sizeof(T); }
    friend Scalar operator<<(Scalar a, Scalar b) {
        return of(b.is_shift() ? T(Wrapping<T>(a.v) << b.v) : T(0));
    }
    friend Scalar operator>>(Scalar a, Scalar b) {
        return of(b.is_shift() ? T(a.v >> b.v) : T(a.v < 0 ? -1 : 0));
    }

    friend Scalar floor_divide(Scalar a, Scalar b) {
        if constexpr (!is_integer<T>) {
            return of(std::floor(a.v / b.v));
        } else if constexpr (sizeof(T) <= 2 || std::is_same_v<T, int32_t>) {
            return of(floor_quotient(a.v, b.v));
        } else {
            if (b.v == 0) return of(T(0));
            if constexpr (std::is_signed_v<T>)
                if (b.v == -1) return -a;  // the smallest one divided by -1 traps
            T quotient = T(a.v / b.v);
            return of(T(quotient - (T(a.v % b.v) != 0 && ((a.v < 0) != (b.v < 0)))));
        }
    }
    // By floats of twice the bits, which makes loops vectors. The result is exact: a quotient of integers of
    // n bits that is no integer differs from the next one by more than 2^-n of itself, which rounding does
    // not. Jumps would make loops scalar, so 0 and 1 stand for conditions.
    static T floor_quotient(T a, T b) {
        using Float = std::conditional_t<sizeof(T) <= 2, float, double>;
        const int32_t x = a, y = b, is_zero = y == 0;
        const int32_t overflows = sizeof(T) == 4 && ((x == INT32_MIN) & (y == -1));
        const Float quotient = Float(x + overflows) / Float(y + is_zero);
        int32_t floor = int32_t(quotient);
        floor -= Float(floor) > quotient;
        return T((uint32_t(floor) + uint32_t(overflows)) & uint32_t(is_zero - 1));
    }
    friend Scalar modulo(Scalar a, Scalar b) {
        if constexpr (!is_integer<T>)
            return of(std::fmod(a.v, b.v));
        else
            return of(T((a - floor_divide(a, b) * b).v & -T(b.v != 0)));
    }
    friend Scalar abs(Scalar x) {
        if constexpr (std::is_unsigned_v<T>)
            return x;
        else if constexpr (is_integer<T>)
            return x.v < 0 ? -x : x;
        else
            return of(std::fabs(x.v));
    }
    friend Mask is_infinite(Scalar x) {
        if constexpr (is_integer<T>)
            return {false};
        else
            return {std::isinf(x.v)};
    }

    // --- floats; rounding leaves integers as they are ---

    friend Scalar ceil(Scalar x) { return is_integer<T> ? x : of(T(std::ceil(x.v))); }
    friend Scalar floor(Scalar x) { return is_integer<T> ? x : of(T(std::floor(x.v))); }
    friend Scalar round(Scalar x) { return is_integer<T> ? x : of(T(std::round(x.v))); }
    friend Scalar round_to_even(Scalar x) { return is_integer<T> ? x : of(T(std::nearbyint(x.v))); }
    friend Scalar sqrt(Scalar x) { return of(std::sqrt(x.v)); }
    friend Scalar exp(Scalar x) { return of(std::exp(x.v)); }
    friend Scalar expm1(Scalar x) { return of(std::expm1(x.v)); }
    friend Scalar log(Scalar x) { return of(std::log(x.v)); }
    friend Scalar log1p(Scalar x) { return of(std::log1p(x.v)); }
    friend Scalar erf(Scalar x) { return of(std::erf(x.v)); }
    // Φ(x) of the normal distribution
    friend Scalar normal_cdf(Scalar x) { return of(T(0.5) * std::erfc(x.v * T(-0.70710678118654752))); }
    // Φ(x) + x φ(x), φ(x) = e^(-x²/2) / √(2π)
    friend Scalar gelu_slope(Scalar x) {
        return normal_cdf(x) + x * (exp(Scalar(-0.5) * x * x) * Scalar(0.39894228040143268));
    }
    friend Scalar sin(Scalar x) { return of(std::sin(x.v)); }
    friend Scalar cos(Scalar x) { return of(std::cos(x.v)); }
    friend Scalar tan(Scalar x) { return of(std::tan(x.v)); }
    friend Scalar asin(Scalar x) { return of(std::asin(x.v)); }
    friend Scalar acos(Scalar x) { return of(std::acos(x.v)); }
    friend Scalar atan(Scalar x) { return of(std::atan(x.v)); }
    friend Scalar sinh(Scalar x) { return of(std::sinh(x.v)); }
    friend Scalar cosh(Scalar x) { return of(std::cosh(x.v)); }
    friend Scalar tanh(Scalar x) { return of(std::tanh(x.v)); }
    friend Scalar asinh(Scalar x) { return of(std::asinh(x.v)); }
    friend Scalar acosh(Scalar x) { return of(std::acosh(x.v)); }
    friend Scalar atanh(Scalar x) { return of(std::atanh(x.v)); }
    friend Scalar pow(Scalar a, Scalar b) { return of(std::pow(a.v, b.v)); }
    friend Scalar atan2(Scalar y, Scalar x) { return of(std::atan2(y.v, x.v)); }
};

// The functors of kernel/scalar, for any value type.
namespace functor {
#include "libmge/kernel/scalar/activation.inc"
#include "libmge/kernel/scalar/arithmetic.inc"
#include "libmge/kernel/scalar/bits.inc"
#include "libmge/kernel/scalar/comparison.inc"
#include "libmge/kernel/scalar/exponential.inc"
#include "libmge/kernel/scalar/trigonometric.inc"
}  // namespace functor

}  // namespace mge::cpu
