// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/cpu/product_epilogue.h"

namespace mge::cpu {

// y[m][n] = sum over k of a[m][k] * b[k][n], f32, with rows of a and y one behind the other. b is packed
// into panels of columns, each row by row, zeros behind the last column; so it is read from front to back.
// The sums are cut into blocks: one of a panel stays in the first cache while the rows of a pass by, one of
// rows of a in the second while all panels do.
struct PackedProduct {
    static constexpr int64_t panel_columns = 16;

    int64_t m, n, k;
    int64_t panel;  // floats from panel to panel
    int64_t panels() const { return (n + panel_columns - 1) / panel_columns; }
};
struct PackedProductData {
    const float *a, *b;
    float* y;
    bool adds;  // to what y holds; else that is gone
};
// The sums of a part of y, which begins with a panel, and what comes behind them, while the second cache has
// them.
void packed_product(const PackedProduct& shape, const PackedProductData& data, const ProductPart& part,
                    const ProductEpilogue& epilogue);

}  // namespace mge::cpu
