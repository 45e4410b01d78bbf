// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of elements in memory to one number, by what two numbers become: an object F with
//
//     static A combine(A, A), identity<A>();
//     static constexpr bool is_rounded;  // floats join in double

#include "libmge/kernel/cuda/reduce.cuh"
#include "libmge/ops/reduce/reduce.cuda.h"

namespace mge::cuda {

// Integers are combined as int32 or int64 and cut to their type at the end, which wraps as if in their type.
// To keep kernels few, integers of up to 32 bits and bools have one in common, which asks for their type.
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

template <class T>
inline constexpr int packed = pack_size<T>;
template <>
inline constexpr int packed<SmallInt> = 1;

// Of memory with elements of T; `type` is their real one, by its number among AllTypes.
template <class A, class T, int pack>
MGE_DEVICE void load_elements(const void* x, int64_t at, int, A (&v)[pack]) {
    auto loaded = *reinterpret_cast<const Pack<T, pack>*>(static_cast<const T*>(x) + at);
#pragma unroll
    for (int k = 0; k < pack; ++k) v[k] = A(widen(loaded.v[k]));
}
template <class A>
MGE_DEVICE A load_small(const void* x, int64_t at, int type) {
    switch (type) {
        case type_number<bool>:
            return A(static_cast<const bool*>(x)[at]);
        case type_number<uint8_t>:
            return A(static_cast<const uint8_t*>(x)[at]);
        case type_number<int8_t>:
            return A(static_cast<const int8_t*>(x)[at]);
        case type_number<uint16_t>:
            return A(static_cast<const uint16_t*>(x)[at]);
        case type_number<int16_t>:
            return A(static_cast<const int16_t*>(x)[at]);
        default:
            return A(static_cast<const int32_t*>(x)[at]);
    }
}
template <class A, class T>
requires is_same<T, SmallInt> MGE_DEVICE void load_elements(const void* x, int64_t at, int type, A (&v)[1]) {
    v[0] = load_small<A>(x, at, type);
}

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

// T are the elements, A what they are combined in.
template <class F, class T, class A>
struct Reduction {
    using Value = A;
    using Total = typename pick<F::is_rounded && is_same<A, float>, double, A>::type;
    const void* x;
    void* y;
    int x_type, y_type;
    double divisor;

    static MGE_DEVICE Value combine(Value a, Value b) { return F::combine(a, b); }
    static MGE_DEVICE Total join(Total a, Total b) { return F::combine(a, b); }
    static MGE_DEVICE Total widen(Value value) { return Total(value); }
    static MGE_DEVICE Total identity() { return F::template identity<Total>(); }

    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t, int, Value (&v)[pack]) const {
        load_elements<A, T>(x, at, x_type, v);
    }
    MGE_DEVICE void store(int64_t output, Total total) const {
        if constexpr (is_same<Total, double>) total /= divisor;
        store_total(y, output, y_type, total);
    }
};

template <class F, class T, class A>
void run_reduction(Stream stream, const ReduceArguments& a) {
    Reduction<F, T, A> reduction{a.x, a.y, a.x_type, a.y_type, a.divisor};
    reduce<packed<T>>(stream, reduction, a.geometry, is_aligned(a.x), a.workspace);
}

template <class F, class... T>
ReduceKernels reductions_of(Types<T...>) {
    return {{run_reduction<F, Read<T>, Combined<Read<T>>>...}};
}

}  // namespace mge::cuda
