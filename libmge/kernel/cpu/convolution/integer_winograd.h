// SPDX-License-Identifier: Apache-2.0
#pragma once
// Winograd's F(4x4, 3x3) in integers, exact. Polynomials are evaluated at 0, 1, -1, 2, -2 and infinity; the
// weight's are multiplied by such numbers that they are integers, and i16 like those of the image:
//
//     image           times weight       gives sums by
//      4  0 -5  0  1  0    6  0  0       1 -4 -4  1  1  0   24 times the first row
//      0 -4 -4  1  1  0    1  1  1       0 -2  2  1 -1  0   12
//      0  4 -4 -1  1  0    1 -1  1       0 -1 -1  1  1  0    6
//      0 -2 -1  2  1  0    1  2  4       0 -1  1  2 -2  1    6
//      0  2 -1 -2  1  0    1 -2  4
//      0  4  0 -5  0  1    0  0  6
//
// An image of 9 bits has points of at most 25500 then, a weight of 8 bits of at most 6272. Sums of their
// products wrap around in 32 bits, which does no harm: what is wanted is known modulo 2^32 times up to 64 *
// 9, and the product with the inverse of 9 and a shift give it, provided that it has no more than 26 bits.

#include <array>
#include <cstdint>
#include <span>

namespace mge::cpu {

inline constexpr int64_t integer_tile_side = 4, integer_window_side = integer_tile_side + 2;
inline constexpr int64_t integer_points = integer_window_side * integer_window_side;
inline constexpr int64_t integer_winograd_channels = 16;  // that come together
// No sum may be as large, whatever its sign.
inline constexpr int64_t integer_winograd_limit = int64_t(1) << 25;

// The points of a window of 3x3 weights, row after row.
std::array<int16_t, integer_points> integer_weight_points(const std::array<int8_t, 9>& weight);

struct IntegerWinograd {
    // Of the bytes of 36 pixels, less the zero point; `channels` are a multiple of the above. Point p begins
    // at to + p * stride.
    void (*image_points)(std::span<const uint8_t* const, integer_points> pixels, int64_t channels,
                         bool is_signed, int32_t zero, int16_t* to, int64_t stride);
    // The sums of a tile's pixels in a block of product_columns channels (byte_product.h), of which the first
    // `columns` are wanted, added to those that are there or not. Point p of the products begins at
    // products + p * stride; a pixel's sums lie product_columns apart, a line's `line`.
    void (*sums)(const int32_t* products, int64_t stride, int64_t columns, bool is_added, int32_t* to,
                 int64_t line);
};
const IntegerWinograd& integer_winograd();

}  // namespace mge::cpu
