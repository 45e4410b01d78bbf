// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of bytes, exact in int32, where the channels of a pixel lie side by side in memory: what quantised
// convolutions in the layout nhwc are made of.

#include <cstdint>
#include <span>

namespace mge::cpu {

// Rows of bytes that lie `stride` apart. Of each, the parts at the given places are multiplied, `part_bytes`
// (a multiple of ByteProduct::depth) of each part: a window is as many parts as it has pixels.
struct ByteRows {
    const uint8_t* first;
    int64_t stride;
    std::span<const int64_t> parts;
    int64_t part_bytes;
};

// One block of columns is a product of its own. Its weight is packed in words of 4 bytes along k, those of
// the same k side by side.
inline constexpr int64_t product_columns = 32;
struct ByteProduct {
    const char* name;
    int64_t rows;   // that are multiplied together; all of them are read
    int64_t depth;  // what k is a multiple of
    bool takes_signed;
    // A thread calls `multiply` between the two.
    void (*begin)();
    void (*end)();
    // sums[r * product_columns + c] = Σ over k of a[r][k] * weight[k][c].
    void (*multiply)(const ByteRows& a, const int8_t* weight, int32_t* sums);
    void (*multiply_signed)(const ByteRows& a, const int8_t* weight, int32_t* sums);  // of i8
};
// By matrix instructions (AMX), or by sums of four products (AVX-512 VNNI); null where the processor has them
// not. By sums of two products of 16 bits, everywhere.
const ByteProduct* matrix_product();
const ByteProduct* quad_product();
const ByteProduct* pair_product();

// Windows over channels that do not mix, up to 64 of them: of pixel i, tap t lies at taps[t] + i * step. Taps
// come in fours, those that fill up having weight 0.
inline constexpr int64_t byte_channels = 64;
struct ByteWindows {
    std::span<const uint8_t* const> taps;
    int64_t step, count, channels;
    bool is_signed;        // of i8: 128 is added to what is multiplied
    const int8_t* weight;  // as place_of_tap says
    int32_t* sums;         // those of a pixel side by side, byte_channels apart
};
bool has_byte_windows();
void multiply_byte_windows(const ByteWindows& windows);
// Where the weight of a tap and a channel belongs.
inline int64_t place_of_tap(int64_t tap, int64_t channel) {
    int64_t lane = channel / 16, word = channel % 16 / 4;  // as bytes are unpacked within lanes
    return tap / 4 * byte_channels * 4 + word * 64 + lane * 16 + channel % 4 * 4 + tap % 4;
}

}  // namespace mge::cpu
