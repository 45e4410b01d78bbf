// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of bf16 rows with a packed weight of bf16 by matrix instructions (AMX), with f32 sums. The sums of
// a tile pass through the L1 cache to y, while the products of the next one are computed.

#include <cstdint>

#include "libmge/kernel/activation.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {

inline constexpr int64_t bf16_rows = 32, bf16_columns = 32, bf16_depth = 32;

// The processor has the instructions, and MGE_ISA permits them.
bool has_bf16_tiles();

// Up to 32 rows by up to 32 columns of a product; rows of x and y are so many elements apart.
struct Bf16Tile {
    const uint16_t* x;
    int64_t x_stride, k;  // k is a multiple of bf16_depth
    int64_t rows, columns;
    const uint16_t* weight;  // pairs along k, those of the same k side by side: 32 of them
    // Weight for later tiles, to be fetched into the L2 cache: so many bytes for each bf16_depth of k.
    const uint16_t* next;
    int64_t next_step;
    const float* bias;     // per column, padded to bf16_columns
    const void* residual;  // in the dtype and with the stride of y; null: absent
    void* y;
    int64_t y_stride;
};

// What is common to all tiles of a product: y = activation(sum + bias + residual).
struct Bf16Finish {
    DType dtype;  // of y: bf16 or f32
    Activation activation;
};

// A thread's; its memory holds the sums of a tile whose y is not stored yet.
struct Bf16Pending {
    alignas(64) float sums[bf16_rows * bf16_columns];
    Bf16Tile tile;
    bool has_tile = false;
};

// Between begin_tiles(rows, later rows) of first_bf16_rows() and the others, and end_tiles(). y is stored
// by the next call, or by finish_bf16().
void multiply_bf16(const Bf16Tile& tile, const Bf16Finish& finish, Bf16Pending& pending);
void finish_bf16(const Bf16Finish& finish, Bf16Pending& pending);
// How many of the rows are in the first tiles.
inline int64_t first_bf16_rows(int64_t rows) { return rows > bf16_rows / 2 ? (rows + 1) / 2 : rows; }

}  // namespace mge::cpu
