// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/packed_product.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/packed_product.h"
#include "libmge/kernel/cpu/panel_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
constexpr int64_t columns = PackedProduct::panel_columns;

// A block of a panel takes half of a first cache of 32 KiB, one of rows of a half of a second of 512 KiB.
constexpr int64_t block_depth = 256, block_rows = 240;

void multiply(const PackedProduct& s, const PackedProductData& d, const ProductPart& part) {
    for (int64_t row = part.first_row; row < part.last_row; row += block_rows) {
        const int64_t last_row = std::min(row + block_rows, part.last_row);
        for (int64_t k = 0; k < s.k; k += block_depth)
            for (int64_t n = part.first_column; n < part.last_column; n += columns)
                panels::add_panel({d.a + k, s.k, d.b + n / columns * s.panel + k * columns, d.y + n, s.n},
                                  row, last_row, std::min(block_depth, s.k - k),
                                  std::min(columns, part.last_column - n), k == 0 && !d.adds);
    }
}

}  // namespace

using Multiply = void (*)(const PackedProduct&, const PackedProductData&, const ProductPart&);
Multiply packed_product_function() { return &multiply; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(packed_product_function);

void packed_product(const PackedProduct& shape, const PackedProductData& data, const ProductPart& part) {
    static const auto best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(packed_product_function)();
    }();
    best(shape, data, part);
}

}  // namespace mge::cpu
#endif
