// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"
#include "libmge/ops/index/order/sort.cuda.h"

namespace mge::cuda {

// Unsigned integers that order the elements of a type.
template <class T>
struct SortKey {
    using Type = uint32_t;
};
template <>
struct SortKey<int64_t> {
    using Type = uint64_t;
};
template <class T>
inline constexpr int key_bits = 8 * sizeof(T);

MGE_DEVICE uint32_t bits_of(float x) { return __float_as_uint(x); }
MGE_DEVICE uint32_t bits_of(f16 x) { return x.bits; }
MGE_DEVICE uint32_t bits_of(bf16 x) { return x.bits; }

// −0 equals 0; NaN is last in either direction, or the largest.
template <class T>
MGE_DEVICE typename SortKey<T>::Type key_of(T value, bool descending, bool nan_is_largest = false) {
    using Key = typename SortKey<T>::Type;
    constexpr Key sign = Key(1) << (key_bits<T> - 1), all = sign | (sign - 1);
    Key key;
    if constexpr (is_same<T, bool>) {
        key = value;
    } else if constexpr (is_integer<T>) {
        key = (Key(value) & all) ^ (Limits<T>::is_signed ? sign : 0);
    } else {
        float number = to_float(value);
        if (number != number) return descending && nan_is_largest ? 0 : all;
        key = number == 0 ? 0 : bits_of(value);
        key = key & sign ? all ^ key : key | sign;
    }
    return descending ? all - key : key;
}

}  // namespace mge::cuda
