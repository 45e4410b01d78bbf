// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of bytes, exact in int32, where the channels of a pixel lie side by side in memory: what quantised
// convolutions in the layout nhwc are made of.

#include <cstdint>
#include <span>

namespace mge::cpu {

// Rows of elements, bytes or i16, that lie `stride` bytes apart. Of each, the parts at the given places are
// multiplied, `part_bytes` (a multiple of ByteProduct::depth elements) of each part: a window is as many
// parts as it has pixels.
struct ByteRows {
    const uint8_t* first;
    int64_t stride;
    std::span<const int64_t> parts;
    int64_t part_bytes;
    int64_t count;    // that are wanted; of the others there may be sums, too
    int64_t columns;  // of the block, that are wanted, likewise
};

// One block of columns is a product of its own. Its weight is packed panel by panel, in words along k, those
// of the same k side by side.
inline constexpr int64_t product_columns = 32;
struct ByteProduct {
    const char* name;
    int64_t rows;         // that are multiplied together; all of them are read
    int64_t depth;        // what k is a multiple of
    int64_t word, panel;  // elements of a word, columns of a panel
    bool takes_signed;
    bool takes_wide;  // rows of i16: `multiply` is for those of both signs
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
// As ByteProduct::multiply of pair_product, of a weight of i16.
using MultiplyPairs = void (*)(const ByteRows& a, const int16_t* weight, int32_t* sums);
MultiplyPairs multiply_pairs();

// to[i] = x[i] - zero, x being i8 or u8.
using WidenBytes = void (*)(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero);
void widen_bytes(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero);

// Windows over channels that do not mix, up to 64 of them: of pixel i, tap t lies at taps[t] + i * step. Taps
// come as many as ByteWindowKernel says, those that fill up having weight 0.
inline constexpr int64_t byte_channels = 64;
struct ByteWindows {
    std::span<const uint8_t* const> taps;
    int64_t step, count, channels;
    bool is_signed;      // of i8: 128 is added to what is multiplied
    const void* weight;  // as ByteWindowKernel says
    int32_t* sums;       // those of a pixel side by side, byte_channels apart
};
struct ByteWindowKernel {
    int64_t taps_together, weight_bytes;
    // Where the weight of a tap and a channel belongs, in elements of so many bytes.
    int64_t (*place_of_tap)(int64_t tap, int64_t channel);
    void (*multiply)(const ByteWindows& windows);
};
// By sums of four products where the processor has them (AVX-512 VNNI), else of two of 16 bits.
const ByteWindowKernel& byte_window_kernel();
const ByteWindowKernel& pair_windows();

}  // namespace mge::cpu
