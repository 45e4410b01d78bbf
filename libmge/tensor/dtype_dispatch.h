// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <type_traits>

#include "libmge/base/error.h"
#include "libmge/tensor/dtype.h"

namespace mge {

template <class... T>
struct Types {};
// Types in which networks compute; f64 is not among them.
using FloatTypes = Types<Half, BFloat16, float>;
using IntTypes = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using NumberTypes = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Half,
                          BFloat16, float, double>;
// All types except narrow ones, which have no C++ type (narrow.h).
using AllTypes = Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, Half,
                       BFloat16, float, double>;
template <class T>
inline constexpr bool is_common_type = is_among(DTypeOf<T>, DTypes::common);

// Calls fn(std::type_identity<T>{}) with the C++ type of `dtype`, which has to be among the listed ones.
template <class... T, class Fn>
void dispatch_dtype(DType dtype, Types<T...>, Fn&& fn) {
    bool done = ((dtype == DTypeOf<T> ? (fn(std::type_identity<T>{}), true) : false) || ...);
    MGE_CHECK(done, "dtype ", dtype, " is not handled here");
}

// Calls fn with an unsigned integer type of the element's size: for kernels that only move data.
template <class Fn>
void dispatch_size(DType dtype, Fn&& fn) {
    switch (size_of(dtype)) {
        case 1:
            return fn(std::type_identity<uint8_t>{});
        case 2:
            return fn(std::type_identity<uint16_t>{});
        case 4:
            return fn(std::type_identity<uint32_t>{});
        case 8:
            return fn(std::type_identity<uint64_t>{});
        default:
            MGE_CHECK(false, "dtype ", dtype, " has no size");
    }
}

}  // namespace mge
