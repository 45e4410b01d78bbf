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

// T is float, double or an integer type; bools travel as uint8_t, halves as float.
template <class T>
struct Scalar {
    T v;
    Scalar() = default;
    // A constant of a formula; integers take the nearest value they have, and 0 for NaN, as a GPU does.
    explicit Scalar(double constant) {
        if constexpr (std::is_integral_v<T>) {
            using Limits = std::numeric_limits<T>;
            v = constant >= double(Limits::max())   ? Limits::max()
                : constant <= double(Limits::min()) ? Limits::min()
                : constant != constant              ? T(0)
                                                    : T(constant);
        } else {
            v = T(constant);
        }
    }
    static Scalar of(T value) {
        Scalar s;
        s.v = value;
        return s;
    }
};

// The unsigned type in which an integer type wraps without undefined behaviour.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;

template <class T, class Fn>
Scalar<T> wrapped(Scalar<T> a, Scalar<T> b, Fn fn) {
    if constexpr (is_integer<T>)
        return Scalar<T>::of(T(fn(Wrapping<T>(a.v), Wrapping<T>(b.v))));
    else
        return Scalar<T>::of(fn(a.v, b.v));
}
template <class T>
Scalar<T> operator+(Scalar<T> a, Scalar<T> b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
Scalar<T> operator-(Scalar<T> a, Scalar<T> b) {
    return wrapped(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
Scalar<T> operator*(Scalar<T> a, Scalar<T> b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
Scalar<T> operator-(Scalar<T> x) {
    if constexpr (is_integer<T>)
        return Scalar<T>::of(T(Wrapping<T>(0) - Wrapping<T>(x.v)));
    else
        return Scalar<T>::of(-x.v);
}
template <class T>
requires std::is_floating_point_v<T> Scalar<T>
operator/(Scalar<T> a, Scalar<T> b) { return Scalar<T>::of(a.v / b.v); }

template <class T>
Mask operator==(Scalar<T> a, Scalar<T> b) {
    return {a.v == b.v};
}
template <class T>
Mask operator!=(Scalar<T> a, Scalar<T> b) {
    return {a.v != b.v};
}
template <class T>
Mask operator<(Scalar<T> a, Scalar<T> b) {
    return {a.v < b.v};
}
template <class T>
Mask operator<=(Scalar<T> a, Scalar<T> b) {
    return {a.v <= b.v};
}
template <class T>
Mask operator>(Scalar<T> a, Scalar<T> b) {
    return {a.v > b.v};
}
template <class T>
Mask operator>=(Scalar<T> a, Scalar<T> b) {
    return {a.v >= b.v};
}
template <class T>
Scalar<T> select(Mask m, Scalar<T> yes, Scalar<T> no) {
    return m.v ? yes : no;
}

// --- integers ---

template <class T>
Scalar<T> operator&(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(T(a.v & b.v));
}
template <class T>
Scalar<T> operator|(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(T(a.v | b.v));
}
template <class T>
Scalar<T> operator^(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(T(a.v ^ b.v));
}
// Shifts by less than zero or by the width and more push everything out.
template <class T>
bool is_shift(T by) {
    return by >= 0 && uint64_t(by) < 8 * sizeof(T);
}
template <class T>
Scalar<T> operator<<(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(is_shift(b.v) ? T(Wrapping<T>(a.v) << b.v) : T(0));
}
template <class T>
Scalar<T> operator>>(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(is_shift(b.v) ? T(a.v >> b.v) : T(a.v < 0 ? -1 : 0));
}

template <class T>
Scalar<T> floor_divide(Scalar<T> a, Scalar<T> b) {
    if constexpr (!is_integer<T>) {
        return Scalar<T>::of(std::floor(a.v / b.v));
    } else {
        if (b.v == 0) return Scalar<T>::of(0);
        if constexpr (std::is_signed_v<T>)
            if (b.v == -1) return -a;  // the smallest one divided by -1 traps
        T quotient = T(a.v / b.v);
        return Scalar<T>::of(T(quotient - (T(a.v % b.v) != 0 && ((a.v < 0) != (b.v < 0)))));
    }
}
template <class T>
Scalar<T> modulo(Scalar<T> a, Scalar<T> b) {
    if constexpr (!is_integer<T>)
        return Scalar<T>::of(std::fmod(a.v, b.v));
    else
        return b.v == 0 ? Scalar<T>::of(0) : a - floor_divide(a, b) * b;
}
template <class T>
Scalar<T> abs(Scalar<T> x) {
    if constexpr (std::is_unsigned_v<T>)
        return x;
    else if constexpr (is_integer<T>)
        return x.v < 0 ? -x : x;
    else
        return Scalar<T>::of(std::fabs(x.v));
}
template <class T>
Mask is_infinite(Scalar<T> x) {
    if constexpr (is_integer<T>)
        return {false};
    else
        return {std::isinf(x.v)};
}

// --- floats; rounding leaves integers as they are ---

template <class T>
Scalar<T> ceil(Scalar<T> x) {
    if constexpr (is_integer<T>) return x;
    return Scalar<T>::of(T(std::ceil(x.v)));
}
template <class T>
Scalar<T> floor(Scalar<T> x) {
    if constexpr (is_integer<T>) return x;
    return Scalar<T>::of(T(std::floor(x.v)));
}
template <class T>
Scalar<T> round(Scalar<T> x) {
    if constexpr (is_integer<T>) return x;
    return Scalar<T>::of(T(std::round(x.v)));
}
template <class T>
Scalar<T> round_to_even(Scalar<T> x) {
    if constexpr (is_integer<T>) return x;
    return Scalar<T>::of(T(std::nearbyint(x.v)));
}
template <std::floating_point T>
Scalar<T> sqrt(Scalar<T> x) {
    return Scalar<T>::of(std::sqrt(x.v));
}
template <std::floating_point T>
Scalar<T> exp(Scalar<T> x) {
    return Scalar<T>::of(std::exp(x.v));
}
template <std::floating_point T>
Scalar<T> expm1(Scalar<T> x) {
    return Scalar<T>::of(std::expm1(x.v));
}
template <std::floating_point T>
Scalar<T> log(Scalar<T> x) {
    return Scalar<T>::of(std::log(x.v));
}
template <std::floating_point T>
Scalar<T> log1p(Scalar<T> x) {
    return Scalar<T>::of(std::log1p(x.v));
}
template <std::floating_point T>
Scalar<T> erf(Scalar<T> x) {
    return Scalar<T>::of(std::erf(x.v));
}
// Φ(x) of the normal distribution
template <std::floating_point T>
Scalar<T> normal_cdf(Scalar<T> x) {
    return Scalar<T>::of(T(0.5) * std::erfc(x.v * T(-0.70710678118654752)));
}
// Φ(x) + x φ(x), φ(x) = e^(-x²/2) / √(2π)
template <std::floating_point T>
Scalar<T> gelu_slope(Scalar<T> x) {
    return normal_cdf(x) + x * (exp(Scalar<T>(-0.5) * x * x) * Scalar<T>(0.39894228040143268));
}
template <std::floating_point T>
Scalar<T> sin(Scalar<T> x) {
    return Scalar<T>::of(std::sin(x.v));
}
template <std::floating_point T>
Scalar<T> cos(Scalar<T> x) {
    return Scalar<T>::of(std::cos(x.v));
}
template <std::floating_point T>
Scalar<T> tan(Scalar<T> x) {
    return Scalar<T>::of(std::tan(x.v));
}
template <std::floating_point T>
Scalar<T> asin(Scalar<T> x) {
    return Scalar<T>::of(std::asin(x.v));
}
template <std::floating_point T>
Scalar<T> acos(Scalar<T> x) {
    return Scalar<T>::of(std::acos(x.v));
}
template <std::floating_point T>
Scalar<T> atan(Scalar<T> x) {
    return Scalar<T>::of(std::atan(x.v));
}
template <std::floating_point T>
Scalar<T> sinh(Scalar<T> x) {
    return Scalar<T>::of(std::sinh(x.v));
}
template <std::floating_point T>
Scalar<T> cosh(Scalar<T> x) {
    return Scalar<T>::of(std::cosh(x.v));
}
template <std::floating_point T>
Scalar<T> tanh(Scalar<T> x) {
    return Scalar<T>::of(std::tanh(x.v));
}
template <std::floating_point T>
Scalar<T> asinh(Scalar<T> x) {
    return Scalar<T>::of(std::asinh(x.v));
}
template <std::floating_point T>
Scalar<T> acosh(Scalar<T> x) {
    return Scalar<T>::of(std::acosh(x.v));
}
template <std::floating_point T>
Scalar<T> atanh(Scalar<T> x) {
    return Scalar<T>::of(std::atanh(x.v));
}
template <std::floating_point T>
Scalar<T> pow(Scalar<T> a, Scalar<T> b) {
    return Scalar<T>::of(std::pow(a.v, b.v));
}
template <std::floating_point T>
Scalar<T> atan2(Scalar<T> y, Scalar<T> x) {
    return Scalar<T>::of(std::atan2(y.v, x.v));
}

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
