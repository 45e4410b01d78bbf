// SPDX-License-Identifier: Apache-2.0
#pragma once
// An element as one of another type.

#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// The result of x86's conversion instruction; a GPU's own conversion saturates.
MGE_DEVICE int32_t truncate_to_i32(float x) {
    return x >= -2147483648.f && x < 2147483648.f ? int32_t(x) : Limits<int32_t>::lowest;
}
MGE_DEVICE int64_t truncate_to_i64(float x) {
    return x >= -0x1p63f && x < 0x1p63f ? int64_t(x) : Limits<int64_t>::lowest;
}

template <class T>
inline constexpr bool is_floating = !is_integer<T> && !is_same<T, bool>;

template <class To, class From>
MGE_DEVICE To converted(From x) {
    if constexpr (is_same<From, To>)
        return x;
    else if constexpr (is_same<To, bool>)
        return widen(x) != 0;
    else if constexpr (is_floating<To>)
        return from_float<To>(float(widen(x)));
    else if constexpr (!is_floating<From>)
        return To(widen(x));
    else if constexpr (is_same<To, int64_t>)
        return truncate_to_i64(widen(x));
    else
        return To(truncate_to_i32(widen(x)));
}

}  // namespace mge::cuda
