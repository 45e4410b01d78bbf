// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/outer_product.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/outer_product.h"
#include "libmge/kernel/cpu/product/panel_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
constexpr int64_t columns = PackedProduct::panel_columns;

int64_t panel_floats(int64_t depth) { return depth * columns + OuterProduct::gap; }

void pack_rows(const OuterProduct& s, const float* b, int64_t block, int64_t first, int64_t last,
               float* packed) {
    const int64_t depth = s.rows(block), panels = s.n / columns, rest = s.n % columns;
    for (int64_t k = first; k < last; ++k) {
        const float* row = b + (block * OuterProduct::depth + k) * s.b_row;
        float* to = packed + k * columns;
        for (int64_t i = 0; i < panels; ++i, row += columns, to += panel_floats(depth))
            std::copy_n(row, columns, to);
        if (rest) std::fill_n(std::copy_n(row, rest, to), columns - rest, 0.F);
    }
}

using Tiles = panels::Tiles<panels::Factor::columns>;
constexpr int64_t max_rows = panels::max_rows<panels::Factor::columns>;

// Some columns of a in tiles.
struct PackedTile {
    int64_t column, height;
    float* packed;
};
struct PackedTiles {
    int64_t count;
    std::array<PackedTile, OuterProduct::columns_together> list;

    PackedTiles(const Tiles& tiles, int64_t depth, float* packed) : count(tiles.count()) {
        for (int64_t i = 0; i < count; ++i) {
            list[size_t(i)] = {tiles.begin(i), tiles.height(i), packed};
            packed += list[size_t(i)].height * depth + OuterProduct::gap;
        }
    }
    auto begin() const { return list.begin(); }
    auto end() const { return list.begin() + count; }
};

void pack_columns(const OuterProduct& s, const float* a, int64_t depth, const PackedTiles& tiles) {
    for (int64_t k = 0; k < depth; ++k, a += s.a_row)
        for (auto& tile : tiles) {
            const float* from = a + tile.column;
            float* to = tile.packed + k * tile.height;
            if (HWY_LIKELY(tile.height == max_rows))
                std::copy_n(from, max_rows, to);
            else
                std::copy_n(from, tile.height, to);
        }
}

void multiply(const OuterProduct& s, const OuterBlock& d, int64_t block, int64_t first, int64_t last) {
    const int64_t depth = s.rows(block), parts = (last - first + OuterProduct::columns_together - 1) /
                                                 OuterProduct::columns_together;
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = first + (last - first) * part / parts;
        const int64_t end = first + (last - first) * (part + 1) / parts;
        const PackedTiles tiles({begin, end - begin}, depth, d.scratch);
        pack_columns(s, d.a + block * OuterProduct::depth * s.a_row, depth, tiles);
        for (int64_t n = 0; n < s.n; n += columns) {
            const float* panel = d.packed_b + n / columns * panel_floats(depth);
            const float* next = n + columns < s.n ? panel + panel_floats(depth) : nullptr;
            for (int64_t i = 0; i < tiles.count; ++i) {
                const PackedTile& tile = tiles.list[size_t(i)];
                panels::adds<panels::Factor::columns>[size_t(tile.height - 1)](
                    {tile.packed, 0, panel, d.y + tile.column * s.n + n, s.n,
                     panels::part_of_fetched(next, depth, i, tiles.count)},
                    depth, std::min(columns, s.n - n), d.is_first);
            }
        }
    }
}

}  // namespace

OuterFunctions outer_functions() { return {pack_rows, multiply}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(outer_functions);
const OuterFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(outer_functions)());
    return best;
}

}  // namespace

int64_t OuterProduct::blocks() const { return ceil_div(k, OuterProduct::depth); }
int64_t OuterProduct::rows(int64_t block) const {
    return std::min(OuterProduct::depth, k - block * OuterProduct::depth);
}
int64_t OuterProduct::b_floats() const {
    constexpr int64_t columns = PackedProduct::panel_columns;
    return ceil_div(n, columns) * (std::min(OuterProduct::depth, k) * columns + OuterProduct::gap);
}
int64_t OuterProduct::a_floats() const {
    return OuterProduct::columns_together * (std::min(OuterProduct::depth, k) + OuterProduct::gap);
}

void pack_outer_rows(const OuterProduct& shape, const float* b, int64_t block, int64_t first, int64_t last,
                     float* packed) {
    functions().pack(shape, b, block, first, last, packed);
}
void outer_product(const OuterProduct& shape, const OuterBlock& data, int64_t block, int64_t first,
                   int64_t last) {
    functions().multiply(shape, data, block, first, last);
}

}  // namespace mge::cpu
#endif
