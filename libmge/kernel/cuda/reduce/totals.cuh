// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of numbers to one number: an object F combines two values, with
//
//     static A combine(A, A), identity<A>();
//     static constexpr bool is_rounded;  // floats join in double

#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

struct Addition {
    static constexpr bool is_rounded = true;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (Scalar<A>::of(a) + Scalar<A>::of(b)).v;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        return 0;
    }
};

struct Multiplication {
    static constexpr bool is_rounded = true;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (Scalar<A>::of(a) * Scalar<A>::of(b)).v;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        return 1;
    }
};

// NaN where there is one.
template <bool is_max>
struct Extreme {
    static constexpr bool is_rounded = false;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (is_max ? b > a : b < a) || b != b ? b : a;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        if constexpr (is_integer<A>)
            return is_max ? Limits<A>::lowest : Limits<A>::highest;
        else
            return __uint_as_float(is_max ? 0xff800000 : 0x7f800000);  // infinite
    }
};

// Integers are combined as int32 or int64 and truncated to their type at the end, which wraps as if in their
// type. To limit the number of kernels, integers of up to 32 bits and bools share one, which checks the type
// at run time.
struct SmallInt {};

template <class T>
inline constexpr bool is_small_int = (is_integer<T> && !is_same<T, int64_t>) || is_same<T, bool>;
// Elements by the kernel that reads them.
template <class T>
using Read = typename pick<is_small_int<T>, SmallInt, T>::type;
template <class T>
struct CombinedAs {
    using Type = Computed<T>;
};
template <>
struct CombinedAs<SmallInt> {
    using Type = int32_t;
};
template <class T>
using Combined = typename CombinedAs<T>::Type;

MGE_DEVICE void store_total(void* y, int64_t at, int type, double total) {
    if (type == type_number<f16>)
        static_cast<f16*>(y)[at] = from_float<f16>(float(total));
    else if (type == type_number<bf16>)
        static_cast<bf16*>(y)[at] = from_float<bf16>(float(total));
    else
        static_cast<float*>(y)[at] = float(total);
}
MGE_DEVICE void store_total(void* y, int64_t at, int type, float total) {
    store_total(y, at, type, double(total));
}
MGE_DEVICE void store_total(void* y, int64_t at, int, int64_t total) { static_cast<int64_t*>(y)[at] = total; }
MGE_DEVICE void store_total(void* y, int64_t at, int type, int32_t total) {
    if (type == type_number<bool>)
        static_cast<bool*>(y)[at] = total;
    else if (type <= type_number<int8_t>)
        static_cast<uint8_t*>(y)[at] = uint8_t(total);
    else if (type <= type_number<int16_t>)
        static_cast<uint16_t*>(y)[at] = uint16_t(total);
    else
        static_cast<int32_t*>(y)[at] = total;
}

// A is the type in which elements are combined.
template <class F, class A>
struct Totals {
    using Value = A;
    using Total = typename pick<F::is_rounded && is_same<A, float>, double, A>::type;
    void* y;
    int y_type;  // a number among AllTypes
    double divisor;

    static MGE_DEVICE Value combine(Value a, Value b) { return F::combine(a, b); }
    static MGE_DEVICE Total join(Total a, Total b) { return F::combine(a, b); }
    static MGE_DEVICE Total widen(Value value) { return Total(value); }
    static MGE_DEVICE Total identity() { return F::template identity<Total>(); }
    MGE_DEVICE void store(int64_t output, Total total) const {
        if constexpr (is_same<Total, double>)
            if (divisor != 1) total /= divisor;
        store_total(y, output, y_type, total);
    }
};

}  // namespace mge::cuda
