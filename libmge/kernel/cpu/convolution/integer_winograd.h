// SPDX-License-Identifier: Apache-2.0
#pragma once
// Winograd's F(4x4, 3x3) in integers, exact. Polynomials are evaluated at 0, 1, -1, 2, -2 and infinity; those
// of the weight are scaled so that they are integers, and i16 like those of the image:
//
//     image           times weight       gives sums by
//      4  0 -5  0  1  0    6  0  0       1 -4 -4  1  1  0   24 times the first row
//      0 -4 -4  1  1  0    1  1  1       0 -2  2  1 -1  0   12
//      0  4 -4 -1  1  0    1 -1  1       0 -1 -1  1  1  0    6
//      0 -2 -1  2  1  0    1  2  4       0 -1  1  2 -2  1    6
//      0  2 -1 -2  1  0    1 -2  4
//      0  4  0 -5  0  1    0  0  6
//
// Points of an image of 9 bits are at most 25500 then, those of a weight of 8 bits at most 6272. Sums of
// their products wrap around in 32 bits, which is harmless: the result is known modulo 2^32 times up to 64 9,
// and the product with the inverse of 9 and a shift give it, provided that it has at most 26 bits.

#include <array>
#include <cstdint>
#include <span>

namespace mge::cpu {

inline constexpr int64_t integer_tile_side = 4, integer_window_side = integer_tile_side + 2;
inline constexpr int64_t integer_points = integer_window_side * integer_window_side;
inline constexpr int64_t integer_winograd_channels = 16;  // that come together
// The absolute value of every sum must be below this.
inline constexpr int64_t integer_winograd_limit = int64_t(1) << 25;

// The points of a window of 3x3 weights, row by row.
std::array<int16_t, integer_points> integer_weight_points(const std::array<int8_t, 9>& weight);

struct IntegerWinograd {
    // The points of the bytes of 36 pixels, minus the zero point; `channels` are a multiple of the above.
    // Point p begins at to + p * stride.
    void (*image_points)(std::span<const uint8_t* const, integer_points> pixels, int64_t channels,
                         bool is_signed, int32_t zero, int16_t* to, int64_t stride);
    // The sums of a tile's pixels in a block of product_columns channels (byte_product.h), for the first
    // `columns`, optionally added to the existing sums. Point p of the products begins at products + p *
    // stride; pixels are product_columns apart, lines `line`.
    void (*sums)(const int32_t* products, int64_t stride, int64_t columns, bool is_added, int32_t* to,
                 int64_t line);
};
const IntegerWinograd& integer_winograd();

}  // namespace mge::cpu
