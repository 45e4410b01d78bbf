// SPDX-License-Identifier: Apache-2.0
#pragma once
// The division of a product of halves among threads.

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/product/half_product.h"
#include "libmge/kernel/cpu/rows/half.h"

namespace mge::cpu {

// Calls fn(ProductPart) for parts that are all of y: panels of a block of rows, one block after the other.
template <class Fn>
void for_half_parts(const HalfProduct& shape, int threads, Fn&& fn) {
    constexpr int64_t columns = HalfProduct::panel_columns, rows = HalfProduct::part_rows,
                      most = HalfProduct::part_columns / columns;
    // Multiplications that are worth taking.
    constexpr int64_t worth_taking = 1 << 18;
    const int64_t panels = shape.panels(), blocks = ceil_div(shape.m, rows);
    const int64_t least = worth_taking / (shape.m / blocks * shape.k * columns) + 1;
    in_claimed_parts(threads, blocks * panels, {std::min(most, least), most},
                     [&](int64_t first, int64_t last) {
                         while (first < last) {
                             const int64_t block = first / panels, panel = first % panels,
                                           end = std::min(panel + last - first, panels);
                             fn(ProductPart{shape.m * block / blocks, shape.m * (block + 1) / blocks,
                                            panel * columns, std::min(end * columns, shape.n)});
                             first += end - panel;
                         }
                     });
}

// The operator's first input is a, the third the bias, the fourth the residual; b is packed.
// `windows`: HalfWindows, if the rows of a are windows of images.
template <class... Windows>
void run_half_product(const HalfProduct& shape, DType dtype, const void* b, const Launch& launch,
                      const Windows&... windows) {
    dispatch_dtype(dtype, HalfTypes(), [&]<class H>(std::type_identity<H>) {
        const HalfProductData<H> data{launch.in<H>(0), static_cast<const H*>(b), launch.in_if_given<H>(2),
                                      launch.in_if_given<H>(3), launch.out<H>(0)};
        for_half_parts(shape, launch.threads,
                       [&](const ProductPart& part) { half_product(shape, data, part, windows...); });
    });
}

}  // namespace mge::cpu
