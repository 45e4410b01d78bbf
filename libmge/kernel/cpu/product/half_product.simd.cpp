// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/half_product.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/half_product.h"
#include "libmge/kernel/cpu/rows/half.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using U32 = hn::RebindToUnsigned<F32>;
using Vec = hn::Vec<F32>;
constexpr int64_t lanes = hn::MaxLanes(F32());
constexpr int64_t columns = HalfProduct::panel_columns;
// The sums of a tile, a row of b and one number of a fill the registers.
constexpr int vectors = 2;
constexpr int64_t tile_columns = vectors * lanes;
constexpr int max_rows = lanes == 16 ? 14 : 6;

// At most so much of a sum at once: a tile's rows of a are 28 KiB, the panels of a part 128 KiB.
constexpr int64_t block_depth = 512;
constexpr int64_t row_stride = block_depth + 16;  // rows do not compete for the same lines of a cache
constexpr int64_t sums_stride = HalfProduct::part_columns;

HWY_INLINE Vec load(const Half* x) {
    const hn::Rebind<hwy::float16_t, F32> halves;
    return hn::PromoteTo(F32(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(x)));
}
HWY_INLINE Vec load(const BFloat16* x) {
    const hn::Rebind<uint16_t, F32> shorts;
    const auto bits = hn::PromoteTo(U32(), hn::LoadU(shorts, reinterpret_cast<const uint16_t*>(x)));
    return hn::BitCast(F32(), hn::ShiftLeft<16>(bits));
}

// Adds the products of a column of R rows of a with a row of b.
template <int R, class H>
HWY_INLINE void add_row(const float* a, const H* b, Vec (&sums)[R][vectors]) {
    Vec row[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) row[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const Vec number = hn::Set(F32(), a[r * row_stride]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(number, row[v], sums[r][v]);
    }
}

// Rows of b that come from memory later: a tile requests one of them after every `step` of its own rows, into
// the second cache. Null: no prefetch.
template <class H>
struct Fetched {
    const H* first = nullptr;
    int64_t step = 1;
};

// Adds the products of `depth` columns of R rows of a to the sums of a tile.
template <int R, class H>
void add_tile(const float* a, const H* b, int64_t depth, float* to, Fetched<H> fetched) {
    const F32 f;
    // Few rows need several sums each, which hide the latency of a fused multiply-add.
    constexpr int separate = R == 1 ? 4 : R == 2 ? 2 : 1;
    Vec sums[separate][R][vectors];
#pragma GCC unroll 4
    for (int i = 0; i < separate; ++i)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                sums[i][r][v] = i == 0 ? hn::LoadU(f, to + r * sums_stride + v * lanes) : hn::Zero(f);
    int64_t k = 0;
    if constexpr (separate == 1)
        for (; fetched.first && k + fetched.step <= depth; fetched.first += columns) {
            __builtin_prefetch(fetched.first, 0, 2);
            for (const int64_t end = k + fetched.step; k < end; ++k)
                add_row<R>(a + k, b + k * columns, sums[0]);
        }
    for (; k + separate <= depth; k += separate)
#pragma GCC unroll 4
        for (int i = 0; i < separate; ++i) add_row<R>(a + k + i, b + (k + i) * columns, sums[i]);
    for (; k < depth; ++k) add_row<R>(a + k, b + k * columns, sums[0]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            Vec sum = sums[0][r][v];
#pragma GCC unroll 4
            for (int i = 1; i < separate; ++i) sum = hn::Add(sum, sums[i][r][v]);
            hn::StoreU(sum, f, to + r * sums_stride + v * lanes);
        }
}

template <class H>
using AddTile = void (*)(const float* a, const H* b, int64_t depth, float* to, Fetched<H> fetched);
template <class H, int... R>
constexpr std::array<AddTile<H>, max_rows> by_rows(std::integer_sequence<int, R...>) {
    return {add_tile<R + 1, H>...};
}
template <class H>
constexpr std::array<AddTile<H>, max_rows> add_tiles =
    by_rows<H>(std::make_integer_sequence<int, max_rows>());

// The bounds of part i of `count` even parts.
struct Even {
    int64_t whole, count;
    Even(int64_t n, int64_t most) : whole(n), count((n + most - 1) / most) {}
    int64_t begin(int64_t i) const { return whole * i / count; }
};

// A part of y with its sums, row by row.
template <class H>
struct PartOfY {
    const HalfProduct& s;
    const HalfProductData<H>& d;
    const ProductPart& part;
    float* sums;

    int64_t rows() const { return part.last_row - part.first_row; }
    int64_t width() const { return part.last_column - part.first_column; }
    int64_t offset(int64_t row) const { return (part.first_row + row) * s.n + part.first_column; }

    void start() const {
        for (int64_t row = 0; row < rows(); ++row) {
            float* to = sums + row * sums_stride;
            if (d.residual) halves_to_floats(d.residual + offset(row), to, width());
            std::fill(to + (d.residual ? width() : 0), to + sums_stride, 0.f);
        }
    }

    // The sums of `depth` numbers from k on.
    void add(int64_t k, int64_t depth) const {
        HWY_ALIGN float a[max_rows * row_stride];
        const Even tiles(rows(), max_rows);
        for (int64_t tile = 0; tile < tiles.count; ++tile) {
            const int64_t first = tiles.begin(tile), height = tiles.begin(tile + 1) - first;
            for (int64_t r = 0; r < height; ++r)
                halves_to_floats(d.a + (part.first_row + first + r) * s.k + k, a + r * row_stride, depth);
            for (int64_t n = 0; n < width(); n += columns) {
                const H* b = d.b + (part.first_column + n) / columns * s.panel + k * columns;
                const H* next =
                    k + depth < s.k ? b + depth * columns : b - k * columns + width() / columns * s.panel;
                for (int64_t c = 0; c < columns; c += tile_columns)
                    add_tiles<H>[size_t(height - 1)](
                        a, b + c, depth, sums + first * sums_stride + n + c,
                        {c == 0 ? next + depth * tile / tiles.count * columns : nullptr, tiles.count});
            }
        }
    }

    void finish() const {
        HWY_ALIGN float bias[HalfProduct::part_columns];
        if (d.bias) halves_to_floats(d.bias + part.first_column, bias, width());
        cpu::finish({d.bias ? bias : nullptr, nullptr, s.activation, sums_stride, sums},
                    {0, rows(), 0, width()});
        for (int64_t row = 0; row < rows(); ++row)
            floats_to_halves(sums + row * sums_stride, d.y + offset(row), width());
    }
};

template <class H>
void multiply(const HalfProduct& s, const HalfProductData<H>& d, const ProductPart& part) {
    HWY_ALIGN float sums[HalfProduct::part_rows * sums_stride];
    const PartOfY<H> y{s, d, part, sums};
    y.start();
    const Even blocks(s.k, block_depth);
    for (int64_t i = 0; i < blocks.count; ++i) y.add(blocks.begin(i), blocks.begin(i + 1) - blocks.begin(i));
    y.finish();
}

}  // namespace

HalfProductFunctions half_product_functions() { return {multiply<Half>, multiply<BFloat16>}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(half_product_functions);
const HalfProductFunctions& functions() {
    static const HalfProductFunctions best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(half_product_functions)();
    }();
    return best;
}

}  // namespace

void half_product(const HalfProduct& shape, const HalfProductData<Half>& data, const ProductPart& part) {
    functions().multiply_f16(shape, data, part);
}
void half_product(const HalfProduct& shape, const HalfProductData<BFloat16>& data, const ProductPart& part) {
    functions().multiply_bf16(shape, data, part);
}

}  // namespace mge::cpu
#endif
