// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of integer matrices, one tile at a time, exact in int32: the kernel of quantised convolutions.
// Both operands are packed in words of 4 bytes along k: two i16, or four bytes, u8 of a and i8 of b.

#include <cstdint>

namespace mge::cpu {

struct IntegerTile {
    int64_t rows, columns;  // size of one tile
    int64_t per_word;       // elements of a word: 2 or 4
    // sums[r * stride + c] = Σ over words and elements of a[word][r] * b[word][c].
    void (*multiply)(const int32_t* a, const int32_t* b, int64_t words, int32_t* sums, int64_t stride);
};

// With i16, for every processor.
const IntegerTile& pair_tile();
// With bytes, four times as fast; null if the processor has no AVX-512 VNNI. Older byte instructions add two
// products in 16 bits, which saturates.
const IntegerTile* quad_tile();

// Windows over channels_together channels that do not mix: sums[i * channels_together + c] = Σ over taps t of
// x[i * step + taps[t] + c] * weight[t * channels_together + c].
inline constexpr int64_t channels_together = 16;
struct ChannelWindows {
    const int16_t *x, *weight;
    const int64_t* taps;
    int64_t tap_count, step, count;
};
void multiply_channels(const ChannelWindows& windows, int32_t* sums);

}  // namespace mge::cpu
