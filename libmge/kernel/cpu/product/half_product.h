// SPDX-License-Identifier: Apache-2.0
#pragma once
// y = activation(a * b + bias + residual) of half-precision matrices, with f32 arithmetic. All operands stay
// halves in memory: rows of a are widened into a small buffer, elements of b when a tile loads them. b is
// packed into panels of columns, each row by row, with zeros behind the last column.
//
// A convolution is such a product, too: the rows of a are the windows of images.

#include <array>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/product/product_epilogue.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {

struct HalfProduct {
    static constexpr int64_t panel_columns = 32;
    // The most rows and columns of a part, whose sums stay in the L2 cache.
    static constexpr int64_t part_rows = 128, part_columns = 4 * panel_columns;

    int64_t m, n, k;
    int64_t panel;  // elements from panel to panel
    Activation activation;
    int64_t panels() const { return ceil_div(n, panel_columns); }
};
// H: Half or BFloat16. Rows of a, residual and y are contiguous.
template <class H>
struct HalfProductData {
    const H *a, *b;
    const H *bias, *residual;  // may be null
    H* y;                      // may be the residual
};

// Windows of images in blocks of channels: (images, channels / block, height, width, block), zeros in the
// last block. A row of a has the channels of a window's first pixel, then those of the next one; y and the
// residual are such images, too, with a column for each channel.
struct HalfWindows {
    int64_t block;     // channels in a block, in x and y: whole vectors
    int64_t channels;  // all channels of x
    std::array<int64_t, 2> in, out, kernel, stride, dilation, padding;
};

// Computes a part of y whose first column starts a panel. f16 needs AVX2 on x86.
void half_product(const HalfProduct& shape, const HalfProductData<Half>& data, const ProductPart& part);
void half_product(const HalfProduct& shape, const HalfProductData<BFloat16>& data, const ProductPart& part);
void half_product(const HalfProduct& shape, const HalfProductData<Half>& data, const ProductPart& part,
                  const HalfWindows& windows);
void half_product(const HalfProduct& shape, const HalfProductData<BFloat16>& data, const ProductPart& part,
                  const HalfWindows& windows);

// Functions compiled once per instruction set.
template <class H>
struct HalfProductFunctions {
    void (*of_matrices)(const HalfProduct&, const HalfProductData<H>&, const ProductPart&);
    void (*of_windows)(const HalfProduct&, const HalfProductData<H>&, const ProductPart&, const HalfWindows&);
};

}  // namespace mge::cpu
