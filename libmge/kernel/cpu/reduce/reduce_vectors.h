// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <type_traits>

namespace mge::cpu {

enum class Reduction : uint8_t { sum, prod, max, min };

// The two vectorised bricks of reductions. max and min give NaN where one value is NaN.
template <class T>
struct ReduceVectors {
    T (*run)(const T* x, int64_t n);  // all of a run (n > 0) into one
    // total[i] = total[i] ∘ x[0][i] ∘ x[1][i] …: contiguous rows of n
    void (*accumulate)(T* total, const T* x, int64_t rows, int64_t n);
};
ReduceVectors<float> reduce_f32(Reduction reduction);

// Integers of which there are vectorised maxima and minima.
template <class T>
inline constexpr bool is_vector_integer = std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t> ||
                                          std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>;
// The reduction is max or min; defined for these integers.
template <class T>
ReduceVectors<T> reduce_integers(Reduction reduction);

}  // namespace mge::cpu
