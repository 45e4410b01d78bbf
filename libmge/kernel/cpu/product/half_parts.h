// SPDX-License-Identifier: Apache-2.0
#pragma once
// The division of a product of halves among threads.

#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/product/half_product.h"

namespace mge::cpu {

// Calls fn(ProductPart) for parts that are all of y: panels of a block of rows, one block after the other.
template <class Fn>
void for_half_parts(const HalfProduct& shape, int threads, Fn&& fn) {
    constexpr int64_t columns = HalfProduct::panel_columns, rows = HalfProduct::part_rows,
                      most = HalfProduct::part_columns / columns;
    // Multiplications that are worth taking.
    constexpr int64_t worth_taking = 1 << 18;
    const int64_t panels = shape.panels(), blocks = (shape.m + rows - 1) / rows;
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

}  // namespace mge::cpu
