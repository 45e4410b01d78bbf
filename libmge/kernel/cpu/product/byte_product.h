// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte products, exact in int32, where the channels of a pixel are contiguous in memory: the kernel of
// quantised convolutions in the layout nhwc.

#include <cstdint>
#include <span>

namespace mge::cpu {

// Rows of elements, bytes or i16, that are `stride` bytes apart. In each row, the parts at the given offsets
// are multiplied, `part_bytes` (a multiple of ByteProduct::depth elements) of each part: a window has as many
// parts as pixels.
struct ByteRows {
    const uint8_t* first;
    int64_t stride;
    std::span<const int64_t> parts;
    int64_t part_bytes;
    int64_t count;    // that are wanted; of the others there may be sums, too
    int64_t columns;  // used columns of the block, likewise
    // Read by products with ByteBounds: the zero point, and the measures of these rows.
    int32_t zero = 0;
    const float* measures = nullptr;
};

// For products that store numbers behind the words of a panel, as Arm's do the sums of its weight. Those that
// add in 16 bits as far as sums are bounded also measure each tile of rows.
struct ByteBounds {
    int64_t (*bytes_of_panel)(int64_t k);
    void (*complete_panel)(int8_t* panel, int64_t k);  // after its words are stored
    int64_t (*measures_of_tile)(int64_t k);
    void (*measure)(const ByteRows& a, float* measures);
    void (*measure_signed)(const ByteRows& a, float* measures);
};

// One block of columns is a separate product. Its weight is packed panel by panel, in words along k, those of
// the same k side by side.
inline constexpr int64_t product_columns = 32;
struct ByteProduct {
    const char* name;
    int64_t rows;         // that are multiplied together; all of them are read
    int64_t depth;        // k must be a multiple of it
    int64_t word, panel;  // elements of a word, columns of a panel
    bool takes_wide;      // rows of i16: `multiply` is for both signs
    // sums[r * product_columns + c] = Σ over k of a[r][k] * weight[k][c].
    void (*multiply)(const ByteRows& a, const int8_t* weight, int32_t* sums);
    // For rows of i8; null if they are wide.
    void (*multiply_signed)(const ByteRows& a, const int8_t* weight, int32_t* sums);
    // If not null, the sums are those of a[r][k] - zero.
    const ByteBounds* bounds = nullptr;
    bool takes_tiles = false;  // `count` may be any number of rows, and no others are read
};
// By sums of four products in vectors of 256 bits (AVX-VNNI) or of 128 (Arm's sdot), and by byte products
// that are added in 16 bits (AVX2). Null if the processor does not have them, or has AVX-512, too.
const ByteProduct* dot_product();
const ByteProduct* bounded_product();
// By sums of two 16-bit products, everywhere.
const ByteProduct* pair_product();
// ByteProduct::multiply of pair_product, with an i16 weight.
using MultiplyPairs = void (*)(const ByteRows& a, const int16_t* weight, int32_t* sums);
MultiplyPairs multiply_pairs();

// to[i] = x[i] - zero, x being i8 or u8.
using WidenBytes = void (*)(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero);
void widen_bytes(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero);

// Depthwise windows of up to 64 channels: tap t of pixel i is at taps[t] + i * step. The number of taps is
// padded for ByteWindowKernel, with weight 0.
inline constexpr int64_t byte_channels = 64;
struct ByteWindows {
    std::span<const uint8_t* const> taps;
    int64_t step, count, channels;
    // Bytes between the columns of windows of 3×3 taps that ByteWindowKernel orders by columns; 0: the taps
    // may be anywhere.
    int64_t column;
    bool is_signed;      // bytes are i8: 128 is added to the factors
    const void* weight;  // in the order of ByteWindowKernel
    int32_t* sums;       // the sums of a pixel are contiguous, pixels byte_channels apart
};
struct ByteWindowKernel {
    int64_t taps_together, weight_bytes;
    // Windows of 3×3 taps are ordered by columns, each padded to `taps_together`; others by rows.
    bool orders_by_columns;
    // The position of the weight of a tap and a channel, in elements of so many bytes.
    int64_t (*place_of_tap)(int64_t tap, int64_t channel);
    void (*multiply)(const ByteWindows& windows);
};
// By sums of two 16-bit products, everywhere.
const ByteWindowKernel& pair_windows();
// By sums of four products (Arm's sdot). Null if the processor does not have them.
const ByteWindowKernel* dot_windows();

}  // namespace mge::cpu
