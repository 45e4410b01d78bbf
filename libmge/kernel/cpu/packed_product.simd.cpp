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

// At most: a block of a panel takes three quarters of a first cache of 32 KiB, one of rows of a under half of
// a second of 512 KiB, which the next block of a panel shares.
constexpr int64_t block_depth = 384, block_rows = 160;
// Columns of a block of rows that have their sums are finished at once, in rows long enough for vectors.
constexpr int64_t finished_together = 128;

// The whole in even blocks, with no small rest.
struct Blocks {
    int64_t first, whole, count;
    Blocks(int64_t begin, int64_t end, int64_t most)
        : first(begin), whole(end - begin), count((whole + most - 1) / most) {}
    int64_t begin(int64_t block) const { return first + whole * block / count; }
};

// One block of rows, from the first of the sums' blocks to the last.
void multiply_rows(const PackedProduct& s, const PackedProductData& d, const ProductPart& part,
                   const ProductEpilogue& epilogue) {
    const Blocks by_depth(0, s.k, block_depth);
    const int64_t first_panel = part.first_column / columns;
    for (int64_t i = 0; i < by_depth.count; ++i) {
        const int64_t k = by_depth.begin(i), depth = by_depth.begin(i + 1) - k;
        int64_t finished = part.first_column;
        for (int64_t n = part.first_column; n < part.last_column; n += columns) {
            const float* b = d.b + n / columns * s.panel + k * columns;
            const int64_t end = std::min(n + columns, part.last_column);
            const bool is_last = end == part.last_column;  // then the next is the first one, deeper
            panels::add_panel(
                {d.a + k, s.k, b, d.y + n, s.n}, part.first_row, part.last_row, depth, end - n,
                k == 0 && !d.adds,
                is_last ? d.b + first_panel * s.panel + (k + depth) % s.k * columns : b + s.panel);
            if (i + 1 == by_depth.count && (is_last || end - finished >= finished_together)) {
                finish(epilogue, {part.first_row, part.last_row, finished, end});
                finished = end;
            }
        }
    }
}

void multiply(const PackedProduct& s, const PackedProductData& d, const ProductPart& part,
              const ProductEpilogue& epilogue) {
    const Blocks by_row(part.first_row, part.last_row, block_rows);
    for (int64_t r = 0; r < by_row.count; ++r)
        multiply_rows(s, d, {by_row.begin(r), by_row.begin(r + 1), part.first_column, part.last_column},
                      epilogue);
}

}  // namespace

using Multiply = void (*)(const PackedProduct&, const PackedProductData&, const ProductPart&,
                          const ProductEpilogue&);
Multiply packed_product_function() { return &multiply; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(packed_product_function);

void packed_product(const PackedProduct& shape, const PackedProductData& data, const ProductPart& part,
                    const ProductEpilogue& epilogue) {
    static const auto best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(packed_product_function)();
    }();
    best(shape, data, part, epilogue);
}

}  // namespace mge::cpu
#endif
