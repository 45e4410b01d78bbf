// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations of kernel/scalar on one number on a GPU: the same as kernel/cpu/scalar.h on the host.
// Integers wrap around; division of an integer by zero gives zero.

#include <cuda_runtime.h>

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

#define MGE_DEVICE __device__ __forceinline__

// Type traits for device code, without the standard library.
template <bool B, class T, class F>
struct pick {
    using type = T;
};
template <class T, class F>
struct pick<false, T, F> {
    using type = F;
};
template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <class T>
struct Limits {
    static constexpr bool is_integer = false, is_signed = true;
};
// Common part of integers; they wrap around in an unsigned type.
template <class T, T lowest_, T highest_>
struct IntegerLimits {
    static constexpr bool is_integer = true, is_signed = lowest_ < 0;
    static constexpr T lowest = lowest_, highest = highest_;
    using Wrapping = typename pick<sizeof(T) == 8, uint64_t, uint32_t>::type;
};
template <>
struct Limits<int8_t> : IntegerLimits<int8_t, -128, 127> {};
template <>
struct Limits<uint8_t> : IntegerLimits<uint8_t, 0, 255> {};
template <>
struct Limits<int16_t> : IntegerLimits<int16_t, -32768, 32767> {};
template <>
struct Limits<uint16_t> : IntegerLimits<uint16_t, 0, 65535> {};
template <>
struct Limits<int32_t> : IntegerLimits<int32_t, -2147483647 - 1, 2147483647> {};
template <>
struct Limits<int64_t> : IntegerLimits<int64_t, -9223372036854775807ll - 1, 9223372036854775807ll> {};

template <class T>
inline constexpr bool is_integer = Limits<T>::is_integer;

template <class T>
MGE_DEVICE bool is_negative(T x) {
    if constexpr (Limits<T>::is_signed)
        return x < 0;
    else
        return false;
}

// --- halves ---

MGE_DEVICE float to_float(f16 x) {
#ifdef MGE_EMULATES_CUDA
    return emulated::from_f16(x.bits);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#endif
}
MGE_DEVICE float to_float(bf16 x) { return __uint_as_float(unsigned(x.bits) << 16); }
MGE_DEVICE float to_float(float x) { return x; }

template <class T>
MGE_DEVICE T from_float(float x);
template <>
MGE_DEVICE float from_float<float>(float x) {
    return x;
}
template <>
MGE_DEVICE f16 from_float<f16>(float x) {
#ifdef MGE_EMULATES_CUDA
    return {emulated::to_f16(x)};
#else
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#endif
}
// To nearest, halves to even; NaN stays NaN.
template <>
MGE_DEVICE bf16 from_float<bf16>(float x) {
    unsigned bits = __float_as_uint(x);
    if (x != x) return {(unsigned short)(bits >> 16 | 0x40)};
    return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// --- values ---

struct Mask {
    bool v;
};

// The type of sums, differences and products.
template <class T>
struct WrappedIn {
    using Type = T;
};
template <class T>
requires is_integer<T>
struct WrappedIn<T> {
    using Type = typename Limits<T>::Wrapping;
};
template <class T>
using Wrapped = typename WrappedIn<T>::Type;

// T is float or an integer type; bools travel as uint8_t, halves as float.
template <class T>
struct Scalar {
    T v;
    Scalar() = default;
    // A constant of a formula; integers take the nearest value they have.
    MGE_DEVICE explicit Scalar(double constant) {
        if constexpr (is_integer<T>)
            v = constant >= double(Limits<T>::highest)  ? Limits<T>::highest
                : constant <= double(Limits<T>::lowest) ? Limits<T>::lowest
                                                        : T(constant);
        else
            v = T(constant);
    }
    static MGE_DEVICE Scalar of(T value) {
        Scalar s;
        s.v = value;
        return s;
    }

    friend MGE_DEVICE Scalar operator+(Scalar a, Scalar b) {
        return of(T(Wrapped<T>(a.v) + Wrapped<T>(b.v)));
    }
    friend MGE_DEVICE Scalar operator-(Scalar a, Scalar b) {
        return of(T(Wrapped<T>(a.v) - Wrapped<T>(b.v)));
    }
    friend MGE_DEVICE Scalar operator*(Scalar a, Scalar b) {
        return of(T(Wrapped<T>(a.v) * Wrapped<T>(b.v)));
    }
    friend MGE_DEVICE Scalar operator-(Scalar x) {
        if constexpr (is_integer<T>)
            return of(T(typename Limits<T>::Wrapping(0) - typename Limits<T>::Wrapping(x.v)));
        else
            return of(-x.v);
    }

    friend MGE_DEVICE Mask operator==(Scalar a, Scalar b) { return {a.v == b.v}; }
    friend MGE_DEVICE Mask operator!=(Scalar a, Scalar b) { return {a.v != b.v}; }
    friend MGE_DEVICE Mask operator<(Scalar a, Scalar b) { return {a.v < b.v}; }
    friend MGE_DEVICE Mask operator<=(Scalar a, Scalar b) { return {a.v <= b.v}; }
    friend MGE_DEVICE Mask operator>(Scalar a, Scalar b) { return {a.v > b.v}; }
    friend MGE_DEVICE Mask operator>=(Scalar a, Scalar b) { return {a.v >= b.v}; }
    friend MGE_DEVICE Scalar select(Mask m, Scalar yes, Scalar no) { return m.v ? yes : no; }

    // --- integers ---

    friend MGE_DEVICE Scalar operator&(Scalar a, Scalar b) { return of(T(a.v & b.v)); }
    friend MGE_DEVICE Scalar operator|(Scalar a, Scalar b) { return of(T(a.v | b.v)); }
    friend MGE_DEVICE Scalar operator^(Scalar a, Scalar b) { return of(T(a.v ^ b.v)); }
    // Shifts by less than zero or by the width and more push everything out.
    MGE_DEVICE bool is_shift() const { return !is_negative(v) && uint64_t(v) < 8 * sizeof(T); }
    friend MGE_DEVICE Scalar operator<<(Scalar a, Scalar b) {
        return of(b.is_shift() ? T(typename Limits<T>::Wrapping(a.v) << b.v) : T(0));
    }
    friend MGE_DEVICE Scalar operator>>(Scalar a, Scalar b) {
        return of(b.is_shift() ? T(a.v >> b.v) : T(is_negative(a.v) ? -1 : 0));
    }

    friend MGE_DEVICE Scalar floor_divide(Scalar a, Scalar b) {
        if constexpr (!is_integer<T>) {
            return of(floorf(a.v / b.v));
        } else {
            if (b.v == 0) return of(0);
            if constexpr (Limits<T>::is_signed)
                if (b.v == -1) return -a;  // the smallest integer divided by -1 overflows
            T quotient = T(a.v / b.v);
            return of(T(quotient - (T(a.v % b.v) != 0 && (is_negative(a.v) != is_negative(b.v)))));
        }
    }
    friend MGE_DEVICE Scalar modulo(Scalar a, Scalar b) {
        if constexpr (!is_integer<T>)
            return of(fmodf(a.v, b.v));
        else
            return b.v == 0 ? of(0) : a - floor_divide(a, b) * b;
    }
    friend MGE_DEVICE Scalar abs(Scalar x) {
        if constexpr (!is_integer<T>)
            return of(fabsf(x.v));
        else if constexpr (Limits<T>::is_signed)
            return x.v < 0 ? -x : x;
        else
            return x;
    }
    friend MGE_DEVICE Mask is_infinite(Scalar x) {
        if constexpr (is_integer<T>)
            return {false};
        else
            return {bool(isinf(x.v))};
    }

    // --- floats; rounding leaves integers as they are ---

    friend MGE_DEVICE Scalar ceil(Scalar x) { return is_integer<T> ? x : of(T(ceilf(float(x.v)))); }
    friend MGE_DEVICE Scalar floor(Scalar x) { return is_integer<T> ? x : of(T(floorf(float(x.v)))); }
    friend MGE_DEVICE Scalar round(Scalar x) { return is_integer<T> ? x : of(T(roundf(float(x.v)))); }
    friend MGE_DEVICE Scalar round_to_even(Scalar x) {
        return is_integer<T> ? x : of(T(nearbyintf(float(x.v))));
    }
};
using ScalarFloat = Scalar<float>;
MGE_DEVICE ScalarFloat operator/(ScalarFloat a, ScalarFloat b) { return ScalarFloat::of(a.v / b.v); }
MGE_DEVICE ScalarFloat sqrt(ScalarFloat x) { return ScalarFloat::of(sqrtf(x.v)); }
MGE_DEVICE ScalarFloat exp(ScalarFloat x) { return ScalarFloat::of(expf(x.v)); }
MGE_DEVICE ScalarFloat expm1(ScalarFloat x) { return ScalarFloat::of(expm1f(x.v)); }
MGE_DEVICE ScalarFloat log(ScalarFloat x) { return ScalarFloat::of(logf(x.v)); }
MGE_DEVICE ScalarFloat log1p(ScalarFloat x) { return ScalarFloat::of(log1pf(x.v)); }
MGE_DEVICE ScalarFloat erf(ScalarFloat x) { return ScalarFloat::of(erff(x.v)); }
MGE_DEVICE ScalarFloat sin(ScalarFloat x) { return ScalarFloat::of(sinf(x.v)); }
MGE_DEVICE ScalarFloat cos(ScalarFloat x) { return ScalarFloat::of(cosf(x.v)); }
MGE_DEVICE ScalarFloat tan(ScalarFloat x) { return ScalarFloat::of(tanf(x.v)); }
MGE_DEVICE ScalarFloat asin(ScalarFloat x) { return ScalarFloat::of(asinf(x.v)); }
MGE_DEVICE ScalarFloat acos(ScalarFloat x) { return ScalarFloat::of(acosf(x.v)); }
MGE_DEVICE ScalarFloat atan(ScalarFloat x) { return ScalarFloat::of(atanf(x.v)); }
MGE_DEVICE ScalarFloat sinh(ScalarFloat x) { return ScalarFloat::of(sinhf(x.v)); }
MGE_DEVICE ScalarFloat cosh(ScalarFloat x) { return ScalarFloat::of(coshf(x.v)); }
MGE_DEVICE ScalarFloat tanh(ScalarFloat x) { return ScalarFloat::of(tanhf(x.v)); }
MGE_DEVICE ScalarFloat asinh(ScalarFloat x) { return ScalarFloat::of(asinhf(x.v)); }
MGE_DEVICE ScalarFloat acosh(ScalarFloat x) { return ScalarFloat::of(acoshf(x.v)); }
MGE_DEVICE ScalarFloat atanh(ScalarFloat x) { return ScalarFloat::of(atanhf(x.v)); }
// Φ(x) of the normal distribution
MGE_DEVICE ScalarFloat normal_cdf(ScalarFloat x) {
    return ScalarFloat::of(0.5f * erfcf(x.v * -0.70710678118654752f));
}
// Φ(x) + x φ(x), φ(x) = e^(-x²/2) / √(2π)
MGE_DEVICE ScalarFloat gelu_slope(ScalarFloat x) {
    return ScalarFloat::of(normal_cdf(x).v + x.v * (expf(-0.5f * x.v * x.v) * 0.39894228040143268f));
}
MGE_DEVICE ScalarFloat pow(ScalarFloat a, ScalarFloat b) { return ScalarFloat::of(powf(a.v, b.v)); }
MGE_DEVICE ScalarFloat atan2(ScalarFloat y, ScalarFloat x) { return ScalarFloat::of(atan2f(y.v, x.v)); }

// The functors of kernel/scalar, plain text without a word about devices.
namespace functor {
#define operator __device__ __forceinline__ operator
#include "libmge/kernel/scalar/activation.inc"
#include "libmge/kernel/scalar/arithmetic.inc"
#include "libmge/kernel/scalar/bits.inc"
#include "libmge/kernel/scalar/comparison.inc"
#include "libmge/kernel/scalar/exponential.inc"
#include "libmge/kernel/scalar/trigonometric.inc"
#undef operator
}  // namespace functor

// --- stored types ---

// The type in which a stored T is computed.
template <class T>
using Computed = typename pick<is_same<T, bool>, uint8_t,
                               typename pick<is_same<T, f16> || is_same<T, bf16>, float, T>::type>::type;

template <class T>
MGE_DEVICE Computed<T> widen(T value) {
    if constexpr (is_integer<T> || is_same<T, bool>)
        return Computed<T>(value);
    else
        return to_float(value);
}
template <class T>
MGE_DEVICE T narrow(Computed<T> value) {
    if constexpr (is_integer<T> || is_same<T, bool>)
        return T(value);
    else
        return from_float<T>(value);
}
template <class T>
MGE_DEVICE Scalar<Computed<T>> load_scalar(T value) {
    return Scalar<Computed<T>>::of(widen(value));
}
// Results keep the dtype of the inputs, except that masks are bools.
template <class T>
MGE_DEVICE T stored(Scalar<Computed<T>> y) {
    return narrow<T>(y.v);
}
template <class T>
MGE_DEVICE bool stored(Mask y) {
    return y.v;
}

}  // namespace mge::cuda
