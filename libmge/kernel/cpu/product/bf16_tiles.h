// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of bf16 rows with a packed weight of bf16 by matrix instructions (AMX), with f32 sums. The sums of
// a tile pass through the L1 cache to y, while the products of the next one are computed.

#include <cstdint>
#include <span>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {

inline constexpr int64_t bf16_rows = 32, bf16_columns = 32;

// The processor has the instructions, and MGE_ISA permits them.
bool has_bf16_tiles();

// Up to 32 rows by up to 32 columns of a product; rows of x and y are so many elements apart. The first
// `first_rows` rows are at x and y, the others at `later` and y_later.
struct Bf16Tile {
    const uint16_t *x, *later;
    int64_t x_stride;
    // The parts of a row are at these offsets, `part` elements each, of which `depth` are multiplied at once.
    std::span<const int64_t> parts;
    int64_t part, depth;
    int64_t rows, first_rows, columns;
    const uint16_t* weight;  // pairs along k, those of the same k side by side: 32 of them
    // Weight for later tiles, to be fetched into the L2 cache: so many bytes for each `depth` of k.
    const uint16_t* next;
    int64_t next_step;
    const float* bias;  // per column, padded to bf16_columns
    // In the dtype and with the stride of y; null: absent.
    const void *residual, *residual_later;
    void *y, *y_later;
    int64_t y_stride;
};

// y = activation(sum + bias + residual).
struct Bf16Finish {
    DType dtype;  // bf16 or f32
    Activation activation;
};

// A thread's; its memory holds the sums of a tile whose y is not stored yet.
struct Bf16Pending {
    alignas(64) float sums[bf16_rows * bf16_columns];
    Bf16Tile tile{};  // at first without rows
    int64_t stored_rows = 0;
    int64_t rows() const { return tile.rows; }
};

// Begins with the tiles of that shape; until end_tiles().
inline void begin_bf16(const Bf16Tile& tile) {
    begin_tiles(tile.first_rows, tile.rows - tile.first_rows, tile.depth * int64_t(sizeof(uint16_t)));
}
// How many of a part's elements are multiplied at once: as many as possible. 0 if only few could be.
int64_t bf16_depth(int64_t part);

// y is stored by the next call, or by finish_bf16().
void multiply_bf16(const Bf16Tile& tile, const Bf16Finish& finish, Bf16Pending& pending);
void finish_bf16(const Bf16Finish& finish, Bf16Pending& pending);

// Sums alone, of whole tiles in memory: one or two tiles of rows by bf16_columns.
struct Bf16Sums {
    const uint16_t* x;
    int64_t x_stride, depth;  // a multiple of bf16_depth_of_tile
    const uint16_t* weight;   // as in Bf16Tile
    float* y;
    int64_t y_stride;
    bool has_two_tiles;
};
inline constexpr int64_t bf16_depth_of_tile = 32;
// y += x * weight, or y = x * weight if it is the first; between begin_tiles() and end_tiles().
void add_bf16(const Bf16Sums& sums, bool is_first);

}  // namespace mge::cpu
