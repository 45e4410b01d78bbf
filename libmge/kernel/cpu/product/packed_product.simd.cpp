// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/packed_product.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/packed_product.h"
#include "libmge/kernel/cpu/product/panel_tiles-inl.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
constexpr int64_t columns = PackedProduct::panel_columns;

// Upper limits: a block of a panel takes three quarters of an L1 cache of 32 KiB, one of rows of a under half
// of an L2 cache of 512 KiB, which the next block of a panel shares.
constexpr int64_t block_depth = 384, block_rows = rows_packed_together;
// Up to here sums are not cut at all: a panel then comes from the second cache for each tile, which costs
// less than sums that are written and read again.
constexpr int64_t whole_depth = 768;
// So many columns of a block of rows are finished together, in rows long enough for vectors.
constexpr int64_t finished_together = 128;

// The whole in even blocks, without a small rest.
struct Blocks {
    int64_t first, whole, count;
    Blocks(int64_t begin, int64_t end, int64_t most)
        : first(begin), whole(end - begin), count(ceil_div(whole, most)) {}
    int64_t begin(int64_t block) const { return first + whole * block / count; }
};

Blocks by_depth_of(int64_t k) { return {0, k, k <= whole_depth ? whole_depth : block_depth}; }

// One block of rows, from the first of the sums' blocks to the last.
void multiply_rows(const PackedProduct& s, const PackedProductData& d, const ProductPart& part,
                   const ProductEpilogue& epilogue) {
    const Blocks by_depth = by_depth_of(s.k);
    const int64_t first_panel = part.first_column / columns, rows = part.last_row - part.first_row;
    for (int64_t i = 0; i < by_depth.count; ++i) {
        const int64_t k = by_depth.begin(i), depth = by_depth.begin(i + 1) - k;
        int64_t finished = part.first_column;
        for (int64_t n = part.first_column; n < part.last_column; n += columns) {
            const float* b = d.b + n / columns * s.panel + k * columns;
            const int64_t end = std::min(n + columns, part.last_column);
            const bool is_last = end == part.last_column;  // then the next is the first one, deeper
            const float* next = b + s.panel;
            if (is_last && i + 1 < by_depth.count) next = d.b + first_panel * s.panel + (k + depth) * columns;
            if (is_last && i + 1 == by_depth.count) next -= k * columns;
            const bool is_first = k == 0 && !d.adds;
            if (d.packed_rows)
                panels::add_panel<panels::Factor::columns>({d.packed_rows + rows * k, 0, b, d.y + n, s.n},
                                                           part.first_row, part.last_row, depth, end - n,
                                                           is_first, next);
            else
                panels::add_panel({d.a + k, s.k, b, d.y + n, s.n}, part.first_row, part.last_row, depth,
                                  end - n, is_first, next);
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

using Tiles = panels::Tiles<panels::Factor::columns>;
Tiles tiles_of(const ProductRows& rows) { return {rows.first, rows.count()}; }
int64_t count_tiles(const ProductRows& rows) { return tiles_of(rows).count(); }

void pack(const PackedProduct& s, const float* a, const ProductRows& rows, int64_t first_tile,
          int64_t last_tile, float* packed) {
    const Tiles tiles = tiles_of(rows);
    const Blocks by_depth = by_depth_of(s.k);
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
        const int64_t row = tiles.begin(tile), height = tiles.height(tile);
        for (int64_t i = 0; i < by_depth.count; ++i) {
            const int64_t k = by_depth.begin(i), depth = by_depth.begin(i + 1) - k;
            transpose_rows(a + row * s.k + k, s.k, height, depth,
                           packed + rows.count() * k + (row - rows.first) * depth, height);
        }
    }
}

}  // namespace

PackedProductFunctions packed_product_functions() { return {multiply, count_tiles, pack}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(packed_product_functions);
const PackedProductFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(packed_product_functions)());
    return best;
}

}  // namespace

void packed_product(const PackedProduct& shape, const PackedProductData& data, const ProductPart& part,
                    const ProductEpilogue& epilogue) {
    functions().multiply(shape, data, part, epilogue);
}
int64_t product_tiles(const ProductRows& rows) { return functions().count_tiles(rows); }
void pack_product_rows(const PackedProduct& shape, const float* a, const ProductRows& rows,
                       int64_t first_tile, int64_t last_tile, float* packed) {
    functions().pack(shape, a, rows, first_tile, last_tile, packed);
}

}  // namespace mge::cpu
#endif
