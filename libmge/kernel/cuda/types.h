// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declarations for the sources of device code (.cu) and of its callers (.cuda.cpp). It includes very little,
// because it is compiled for each architecture.

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace mge::cuda {

using Stream = CUstream_st*;  // cudaStream_t

// Storage of the half precisions; arithmetic on them is done in f32.
struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};

template <class... T>
struct Types {};
using FloatTypes = Types<f16, bf16, float>;
using IntTypes = Types<uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t>;
using NumberTypes = Types<uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t, f16, bf16, float>;
// In the order of launch.h: type_index. A parameter `type` is the number of a type among them.
using AllTypes = Types<bool, uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t, f16, bf16, float>;
inline constexpr int type_count = 10;
// A number among them.
template <class T, class First, class... Rest>
constexpr int number_among(Types<First, Rest...>) {
    if constexpr (__is_same(T, First))
        return 0;
    else
        return 1 + number_among<T>(Types<Rest...>{});
}
template <class T>
inline constexpr int type_number = number_among<T>(AllTypes{});

inline constexpr int max_axes = 7;
// Bytes that a thread loads or stores at once, if the address is a multiple.
inline constexpr int pack_bytes = 16;

}  // namespace mge::cuda
