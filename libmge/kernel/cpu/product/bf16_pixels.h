// SPDX-License-Identifier: Apache-2.0
#pragma once
// Channels-last pixels of bf16 as the factors of products that add up over pixels (AMX).

#include <array>
#include <cstdint>

namespace mge::cpu {

inline constexpr int64_t pixel_block = 32;

// 32 channels of 32 pixels. Channels that do not exist are zeros.
struct PixelBlock {
    const uint16_t* const* pixels;  // the first channel of each; null: zeros
    int64_t first, count;           // the first channel, and the number of channels from there
};

// Rows of channels, `stride` elements apart: to[channel * stride + pixel].
void transpose_pixels(const PixelBlock& from, uint16_t* to, int64_t stride);
// A weight of Bf16Sums: pairs of neighbouring pixels, those of the same two side by side.
void pair_pixels(const PixelBlock& from, uint16_t* to);

inline constexpr int64_t joined_planes = 4;
// Pixels from planes: to[i * joined_planes + p] = planes[p][i], or 0 if a plane is null.
void join_planes(const std::array<const uint16_t*, joined_planes>& planes, int64_t count, uint16_t* to);

}  // namespace mge::cpu
