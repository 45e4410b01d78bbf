// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers that elements of narrow dtypes represent. An element is stored in the low bits of its byte. All
// numbers are exact in float. The 8-bit floats are those of the OCP formats (e4m3fn, e5m2, e8m0: powers of
// two) and of Graphcore's (…fnuz: without −0 and infinities); e2m1 and the integers have 4 and 2 bits.

#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/tensor/dtype.h"

namespace mge {

constexpr bool is_narrow_int(DType dtype) { return dtype >= DType::u4; }
// Number of bits: 8, 4 or 2.
constexpr int narrow_width(DType dtype) { return dtype >= DType::u2 ? 2 : dtype >= DType::e2m1 ? 4 : 8; }

// The conversion of numbers beyond the largest one, and of infinities.
enum class Overflow : uint8_t {
    saturates,  // the largest number
    escapes,    // infinity if the type has one, otherwise NaN
};
// The power of two to which e8m0 rounds. `nearest` takes the larger of two.
enum class PowerRounding : uint8_t { up, down, nearest };

MGE_API float narrow_value(DType dtype, uint8_t bits);
// Returns the nearest number; ties go to even. Integers lose the fraction and wrap around; e8m0 loses the
// sign.
MGE_API uint8_t narrow_bits(DType dtype, double value, Overflow overflow = Overflow::saturates,
                            PowerRounding rounding = PowerRounding::up);
MGE_API uint8_t narrow_bits(DType dtype, int64_t value);

}  // namespace mge
