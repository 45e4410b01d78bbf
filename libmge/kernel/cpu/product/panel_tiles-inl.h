// SPDX-License-Identifier: Apache-2.0
// Matrix products in register tiles, with the second factor in panels of columns (packed_product.h). Included
// by *.simd.cpp files after foreach_target.h and once per instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_PANEL_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_PANEL_TILES_H
#undef MGE_KERNEL_CPU_PANEL_TILES_H
#else
#define MGE_KERNEL_CPU_PANEL_TILES_H
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"
#include "libmge/kernel/cpu/product/packed_product.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace panels {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using Vec = hn::Vec<F32>;
constexpr int64_t lanes = hn::MaxLanes(F32());
constexpr int64_t columns = PackedProduct::panel_columns;
// Vectors of a tile. Its sums, a row of b and one number of a fill the registers.
constexpr int vectors = int(std::min<int64_t>(2, columns / lanes));
constexpr int64_t tile_columns = vectors * lanes;

// The order of a: in rows, or, for each tile, column by column.
enum class Factor { rows, columns };

// Rows of a tile. Arm has 32 registers, and multiplies by single numbers of a vector: one of each row, or
// three of a column.
#if HWY_TARGET == HWY_NEON
template <Factor factor>
constexpr int max_rows = factor == Factor::rows ? 8 : 12;
#else
template <Factor>
constexpr int max_rows = lanes == 16 ? 14 : 6;
#endif

// Later data of b, which comes from memory: while a tile is computed, some of its rows are prefetched after
// every `rows_of_b`, from `first` on. Null: no prefetch.
struct Fetched {
    const float* first = nullptr;
    int64_t rows_of_b = 1, together = 1;
};

// Unrolled rows of b in a tile. With more, compilers interleave the products and keep sums in memory, unless
// these are assembly.
constexpr int64_t rows_at_once = HWY_TARGET == HWY_NEON ? 4 : 2;

// The part of tile i of `count` in `depth` rows of b from `next` on.
HWY_INLINE Fetched part_of_fetched(const float* next, int64_t depth, int64_t i, int64_t count) {
    // The loop around those rows has some twenty instructions of its own on Arm.
    constexpr int64_t longer = HWY_TARGET == HWY_NEON ? 4 : 1;
    const int64_t step = longer * std::max(rows_at_once, count / rows_at_once * rows_at_once);
    const int64_t together = ceil_div(step, count), first = i * ceil_div(depth, step) * together;
    return {next && first < depth ? next + first * columns : nullptr, step, together};
}

// The position of a tile: its first numbers in a, b and y, and the row strides. The next rows of y, if given,
// may come from far away, too.
struct Tile {
    const float* a;
    int64_t a_row;
    const float* b;
    float* y;
    int64_t y_row;
    Fetched fetched = {};
    const float* next_y = nullptr;
};

// Into the second cache.
HWY_INLINE void fetch(const float* row) { __builtin_prefetch(row, 0, 2); }

// Adds the products of a column of R rows of a with a row of b.
template <int R, Factor factor>
HWY_INLINE void add_row(const float* a, int64_t a_row, const float* b, Vec (&sums)[R][vectors]) {
    const F32 f;
    Vec row[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(f, b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const Vec number = hn::Set(f, factor == Factor::rows ? a[r * a_row] : a[r]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(number, row[v], sums[r][v]);
    }
}

// The same for as many rows of b as are unrolled. On Arm loads move past the numbers of a.
constexpr bool moves_past_numbers = HWY_TARGET == HWY_NEON;
#if HWY_TARGET == HWY_NEON
HWY_INLINE void load_row(const float* b, Vec (&row)[vectors]) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(F32(), b + v * lanes);
}
template <int I, int R>
HWY_INLINE void add_lane(const Vec (&numbers)[R], const float* b, Vec (&sums)[R][vectors]) {
    Vec row[vectors];
    load_row(b + I * columns, row);
    add_lane_products<I>(numbers, row, sums);
}
// Moves past a column. Its last vector ends with it, so that it overlaps with the one before.
template <int R, int... i>
HWY_INLINE void add_column(const float*& a, const float* b, Vec (&sums)[R][vectors],
                           std::integer_sequence<int, i...>) {
    constexpr auto first = [](int r) { return std::min(r / 4 * 4, R - 4); };
    Vec column[(R + 3) / 4], row[vectors];
    load_row(b, row);
    if constexpr (R == max_rows<Factor::columns>) {
        load_vectors(a, column);
    } else {
#pragma GCC unroll 3
        for (int n = 0; n < (R + 3) / 4; ++n) column[n] = hn::LoadU(F32(), a + first(4 * n));
        a += R;
    }
    ((sums[i % R][i / R] =
          add_lane_product<i % R - first(i % R)>(column[i % R / 4], row[i / R], sums[i % R][i / R])),
     ...);
}
template <int R, Factor factor>
HWY_INLINE void add_rows_at_once(const float*& a, int64_t a_row, const float* b, Vec (&sums)[R][vectors]) {
    if constexpr (factor == Factor::rows) {
        Vec numbers[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) numbers[r] = hn::LoadU(F32(), a + r * a_row);
        add_lane<0>(numbers, b, sums);
        add_lane<1>(numbers, b, sums);
        add_lane<2>(numbers, b, sums);
        add_lane<3>(numbers, b, sums);
        a += rows_at_once;
    } else {
#pragma GCC unroll 4
        for (int64_t i = 0; i < rows_at_once; ++i)
            if constexpr (R < 4)
                add_row<R, factor>(std::exchange(a, a + R), a_row, b + i * columns, sums);
            else
                add_column(a, b + i * columns, sums, std::make_integer_sequence<int, R * vectors>());
    }
}
#else
template <int R, Factor factor>
HWY_INLINE void add_rows_at_once(const float* a, int64_t a_row, const float* b, Vec (&sums)[R][vectors]) {
    constexpr int64_t a_step = factor == Factor::rows ? 1 : R;
#pragma GCC unroll 2
    for (int64_t i = 0; i < rows_at_once; ++i)
        add_row<R, factor>(a + i * a_step, a_row, b + i * columns, sums);
}
#endif

// Adds the products of `depth` columns of R rows of a to y, or starts it with them.
template <int R, Factor factor = Factor::rows>
HWY_INLINE void add_tile(const Tile& t, int64_t depth, bool is_first) {
    const F32 f;
    Vec sums[R][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
            sums[r][v] = is_first ? hn::Zero(f) : hn::LoadU(f, t.y + r * t.y_row + v * lanes);
    for (int r = 0; t.next_y && r < R; ++r) __builtin_prefetch(t.next_y + r * t.y_row, 1, 3);
    const float *a = t.a, *b = t.b, *fetched = t.fetched.first;
    constexpr int64_t a_step = factor == Factor::rows ? 1 : R;
    const int64_t whole = depth / rows_at_once * rows_at_once, step = fetched ? t.fetched.rows_of_b : whole;
    for (int64_t begin = 0; begin < whole; begin += step) {
        for (int64_t i = 0; fetched && i < t.fetched.together; ++i, fetched += columns) fetch(fetched);
        const int64_t end = std::min(begin + step, whole);
        int64_t k = begin;
        for (; moves_past_numbers && k + 2 * rows_at_once <= end; k += 2 * rows_at_once) {
            add_rows_at_once<R, factor>(a, t.a_row, b, sums);
            add_rows_at_once<R, factor>(a, t.a_row, b + rows_at_once * columns, sums);
            b += 2 * rows_at_once * columns;
        }
        for (; k < end; k += rows_at_once) {
            add_rows_at_once<R, factor>(a, t.a_row, b, sums);
            if (!moves_past_numbers) a += rows_at_once * a_step;
            b += rows_at_once * columns;
        }
    }
    for (int64_t k = whole; k < depth; ++k, a += a_step, b += columns)
        add_row<R, factor>(a, t.a_row, b, sums);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], f, t.y + r * t.y_row + v * lanes);
}

// The full width of a panel. The last one may be narrower, and its rest goes through a buffer.
template <int R, Factor factor>
void add_rows(const Tile& t, int64_t depth, int64_t width, bool is_first) {
    if (width == columns) {
        for (int64_t c = 0; c < columns; c += tile_columns)
            add_tile<R, factor>({t.a, t.a_row, t.b + c, t.y + c, t.y_row, c == 0 ? t.fetched : Fetched{},
                                 c == 0 ? t.next_y : nullptr},
                                depth, is_first);
        return;
    }
    HWY_ALIGN float whole[R * columns] = {};
    for (int r = 0; !is_first && r < R; ++r) std::copy_n(t.y + r * t.y_row, width, whole + r * columns);
    add_rows<R, factor>({t.a, t.a_row, t.b, whole, columns, t.fetched}, depth, columns, is_first);
    for (int r = 0; r < R; ++r) std::copy_n(whole + r * columns, width, t.y + r * t.y_row);
}

using AddRows = void (*)(const Tile&, int64_t depth, int64_t width, bool is_first);
template <Factor factor, int... R>
constexpr std::array<AddRows, max_rows<factor>> by_rows(std::integer_sequence<int, R...>) {
    return {add_rows<R + 1, factor>...};
}
template <Factor factor>
constexpr auto adds = by_rows<factor>(std::make_integer_sequence<int, max_rows<factor>>());

// Rows in even tiles, with no small rest. A column's part of a tile is loaded in whole vectors on Arm, so
// tiles except the last have multiples of their lanes.
template <Factor factor>
struct Tiles {
    static constexpr int64_t multiple = HWY_TARGET == HWY_NEON && factor == Factor::columns ? lanes : 1;
    int64_t first, rows;

    int64_t count() const { return ceil_div(rows, max_rows<factor>); }
    int64_t begin(int64_t i) const {
        const int64_t even = rows * i / count();
        return first + std::min(rows, round_up(even, multiple));
    }
    int64_t height(int64_t i) const { return begin(i + 1) - begin(i); }
};

// Rows [first, last). Each tile prefetches its part of `next`, which has as many rows of b as this panel:
// this hides the latency. Null: b is near. In columns, a is stored tile by tile, from row `first` on.
template <Factor factor = Factor::rows>
[[maybe_unused]] void add_panel(const Tile& panel, int64_t first, int64_t last, int64_t depth, int64_t width,
                                bool is_first, const float* next = nullptr) {
    const Tiles<factor> tiles{first, last - first};
    const int64_t count = tiles.count();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t begin = tiles.begin(i), height = tiles.height(i);
        float* y = panel.y + begin * panel.y_row;
        adds<factor>[size_t(height - 1)](
            {panel.a + (factor == Factor::rows ? begin * panel.a_row : (begin - first) * depth), panel.a_row,
             panel.b, y, panel.y_row, part_of_fetched(next, depth, i, count),
             next && i + 1 < count ? y + height * panel.y_row : nullptr},
            depth, width, is_first);
    }
}

}  // namespace
}  // namespace panels
}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
