// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of numerical tolerances: dtype × length of the longest accumulation behind an element.

#include <array>
#include <cstdint>

#include "libmge/tensor/dtype.h"

namespace mge::test {

// Largest accepted relative error. Integers and bools have to be exact.
constexpr double tolerance(DType dtype, int64_t reduction_length) {
    // Columns: no accumulation, up to 64, up to 4096, longer. f32: a few units in the last place (2^-24) of
    // a vector function; then the growth of blocked summation. Halves: one rounding of the result (2^-11,
    // 2^-8) and one of an intermediate.
    constexpr std::array<double, 4> f32{2e-6, 4e-6, 1e-5, 4e-5};
    constexpr std::array<double, 4> f64{4e-15, 1e-14, 1e-13, 1e-12};
    constexpr std::array<double, 4> f16{1e-3, 2e-3, 4e-3, 8e-3};
    constexpr std::array<double, 4> bf16{8e-3, 1.6e-2, 3.2e-2, 6.4e-2};
    size_t column = reduction_length <= 1 ? 0 : reduction_length <= 64 ? 1 : reduction_length <= 4096 ? 2 : 3;
    switch (dtype) {
        case DType::f32:
            return f32[column];
        case DType::f64:
            return f64[column];
        case DType::f16:
            return f16[column];
        case DType::bf16:
            return bf16[column];
        default:
            return 0;
    }
}

// Finite differences with f32 results are no better than this, relative to the largest gradient.
inline constexpr double gradient_tolerance = 4e-3;

}  // namespace mge::test
