// SPDX-License-Identifier: Apache-2.0
#pragma once
// A product of bf16 by matrix instructions: the rows are the pixels of an image, whose windows are read where
// they are.

#include <cstdint>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/line_tiles.h"

namespace mge::cpu {

struct Bf16Product {
    LineTiles tiles;
    int64_t rows;                     // the pixels of y
    int64_t line_stride, row_stride;  // elements of x between lines of y, and between their pixels
    std::vector<int64_t> parts;       // as in Bf16Tile
    int64_t part, depth;
    int64_t columns;
    Bf16Finish finish;

    int64_t k() const { return int64_t(parts.size()) * part; }
    int64_t blocks() const { return ceil_div(columns, bf16_columns); }
    int64_t weight_size() const { return blocks() * bf16_columns * k(); }
    int64_t bias_size() const { return blocks() * bf16_columns; }
};
struct Bf16Operands {
    const uint16_t *x, *weight;  // the latter block after block of columns
    const float* bias;           // padded to whole blocks
    const void* residual;        // null: absent
    void* y;
};
// Threads divide the columns, so that each reads its part of the weight once, or the rows if there are more.
void multiply_bf16(const Bf16Product& product, const Bf16Operands& operands, int threads);

// A bias of f32 or bf16 (null: absent), padded for a product.
void pad_bias(const Bf16Product& product, DType dtype, const void* bias, float* to);

}  // namespace mge::cpu
