// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/product/product_epilogue.h"

namespace mge::cpu {

// y[m][n] = sum over k of a[m][k] * b[k][n], f32, with rows of a and y one behind the other. b is packed
// into panels of columns, each row by row, zeros behind the last column; so it is read from front to back.
// Long sums are cut into blocks: one of a panel stays in the first cache while the rows of a pass by, one of
// rows of a in the second while all panels do.
struct PackedProduct {
    static constexpr int64_t panel_columns = 16;

    int64_t m, n, k;
    int64_t panel;  // floats from panel to panel
    int64_t panels() const { return ceil_div(n, panel_columns); }
};
struct PackedProductData {
    const float *a, *b;
    float* y;
    bool adds;  // adds to y; otherwise overwrites it
    const float* packed_rows =
        nullptr;  // packed rows of the part, by pack_product_rows; null: a is read in place
};
// The sums of a part of y, which begins with a panel, and their epilogue while they are in the L2 cache.
void packed_product(const PackedProduct& shape, const PackedProductData& data, const ProductPart& part,
                    const ProductEpilogue& epilogue);

// Packed rows, too, are read sequentially by every panel: they conflict neither with each other nor with the
// panel in a cache. At most so many of them at once, whose tiles the threads share.
inline constexpr int64_t rows_packed_together = 160;
struct ProductRows {
    int64_t first, last;
    int64_t count() const { return last - first; }
};
int64_t product_tiles(const ProductRows& rows);
// Into count() * k floats.
void pack_product_rows(const PackedProduct& shape, const float* a, const ProductRows& rows,
                       int64_t first_tile, int64_t last_tile, float* packed);

// One per instruction set; packed_product.simd.cpp defines them.
struct PackedProductFunctions {
    decltype(&packed_product) multiply;
    decltype(&product_tiles) count_tiles;
    decltype(&pack_product_rows) pack;
};

}  // namespace mge::cpu
