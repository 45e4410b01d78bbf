// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions of elements in memory to one number.

#include "libmge/kernel/cuda/reduce/reduce.cuh"
#include "libmge/kernel/cuda/reduce/totals.cuh"
#include "libmge/ops/reduce/reduce.cuda.h"

namespace mge::cuda {

template <class T>
inline constexpr int packed = pack_size<T>;
template <>
inline constexpr int packed<SmallInt> = 1;

// For memory with elements of T; `type` is their real type, by its number among AllTypes.
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

// T are the elements, A what they are combined in.
template <class F, class T, class A>
struct Reduction : Totals<F, A> {
    const void* x;
    int x_type;

    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t, int, A (&v)[pack]) const {
        load_elements<A, T>(x, at, x_type, v);
    }
};

template <class F, class T, class A>
void run_reduction(Stream stream, const ReduceArguments& a) {
    Reduction<F, T, A> reduction{{a.y, a.y_type, a.divisor}, a.x, a.x_type};
    reduce<packed<T>>(stream, reduction, a.geometry, is_aligned(a.x), a.workspace);
}

template <class F, class... T>
ReduceKernels reductions_of(Types<T...>) {
    return {{run_reduction<F, Read<T>, Combined<Read<T>>>...}};
}

}  // namespace mge::cuda
