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
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/activate.h"
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
// The sums of a tile, a row of b and one number of a fill the registers. Few rows have wider tiles: enough
// sums to hide the latency of a fused multiply-add. A sum has one order, whatever its tile.
constexpr int max_rows = lanes == 16 ? 14 : 6;
constexpr int vectors_of(int rows) {
    constexpr int sums_of_few_rows = 8;
    return std::clamp(sums_of_few_rows / rows, 2, int(columns / lanes));
}

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
template <int R, int V, class H>
HWY_INLINE void add_row(const float* a, const H* b, Vec (&sums)[R][V]) {
    Vec row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        const Vec number = hn::Set(F32(), a[r * row_stride]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(number, row[v], sums[r][v]);
    }
}

// Rows of b that come from memory later: a tile requests one of them after every `step` of its own rows, into
// the second cache. Null: no prefetch.
template <class H>
struct Fetched {
    const H* first = nullptr;
    int64_t step = 1;
};

// Adds the products of `depth` columns of R rows of a to V vectors of their sums.
template <int R, int V, class H>
HWY_INLINE void add_tile(const float* a, const H* b, int64_t depth, float* to, Fetched<H> fetched) {
    const F32 f;
    Vec sums[R][V];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sums[r][v] = hn::LoadU(f, to + r * sums_stride + v * lanes);
    int64_t k = 0;
    for (; fetched.first && k + fetched.step <= depth; fetched.first += columns) {
        __builtin_prefetch(fetched.first, 0, 2);
        for (const int64_t end = k + fetched.step; k < end; ++k) add_row<R, V>(a + k, b + k * columns, sums);
    }
    for (; k < depth; ++k) add_row<R, V>(a + k, b + k * columns, sums);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) hn::StoreU(sums[r][v], f, to + r * sums_stride + v * lanes);
}
// The same for all columns of a panel.
template <int R, class H>
void add_panel(const float* a, const H* b, int64_t depth, float* to, Fetched<H> fetched) {
    constexpr int vectors = vectors_of(R);
    for (int64_t c = 0; c < columns; c += vectors * lanes)
        add_tile<R, vectors, H>(a, b + c, depth, to + c, c == 0 ? fetched : Fetched<H>());
}

template <class H>
using AddPanel = void (*)(const float* a, const H* b, int64_t depth, float* to, Fetched<H> fetched);
template <class H, int... R>
constexpr std::array<AddPanel<H>, max_rows> by_rows(std::integer_sequence<int, R...>) {
    return {add_panel<R + 1, H>...};
}
template <class H>
constexpr std::array<AddPanel<H>, max_rows> add_panels =
    by_rows<H>(std::make_integer_sequence<int, max_rows>());

// One row of a: P panels side by side, `panel` elements apart. Each is a stream of its own for the
// processor's prefetcher, and one stream is read more slowly.
template <int P, class H>
void add_panels_of_row(const float* a, const H* b, int64_t panel, int64_t depth, float* to) {
    constexpr int vectors = int(columns / lanes);
    const F32 f;
    Vec sums[P][1][vectors];
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) sums[p][0][v] = hn::LoadU(f, to + p * columns + v * lanes);
    for (int64_t k = 0; k < depth; ++k)
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) add_row<1, vectors>(a + k, b + p * panel + k * columns, sums[p]);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) hn::StoreU(sums[p][0][v], f, to + p * columns + v * lanes);
}
// As many as have their sums in registers.
constexpr int panels_of_row = lanes == 16 ? 4 : 1;

// The bounds of part i of `count` even parts.
struct Even {
    int64_t whole, count;
    Even(int64_t n, int64_t most) : whole(n), count(ceil_div(n, most)) {}
    int64_t begin(int64_t i) const { return whole * i / count; }
};

// Operands that are matrices: a, the residual and y, row by row.
template <class H>
struct Matrices {
    const HalfProduct& s;
    const HalfProductData<H>& d;

    Even blocks() const { return {s.k, block_depth}; }
    int64_t first_of_block(const Even& blocks, int64_t i) const { return blocks.begin(i); }

    void widen(int64_t row, int64_t rows, int64_t k, int64_t depth, float* a) const {
        for (const int64_t end = row + rows; row < end; ++row, a += row_stride)
            halves_to_floats(d.a + row * s.k + k, a, depth);
    }
    void load_residual(const ProductPart& part, float* sums) const {
        for (int64_t row = part.first_row; row < part.last_row; ++row, sums += sums_stride)
            halves_to_floats(d.residual + row * s.n + part.first_column, sums,
                             part.last_column - part.first_column);
    }
    void finish(const ProductPart& part, float* sums) const {
        const int64_t rows = part.last_row - part.first_row, width = part.last_column - part.first_column;
        HWY_ALIGN float bias[HalfProduct::part_columns];
        if (d.bias) halves_to_floats(d.bias + part.first_column, bias, width);
        cpu::finish({d.bias ? bias : nullptr, nullptr, s.activation, sums_stride, sums}, {0, rows, 0, width});
        for (int64_t row = part.first_row; row < part.last_row; ++row, sums += sums_stride)
            floats_to_halves(sums, d.y + row * s.n + part.first_column, width);
    }
};

// Operands that are images: a has the windows of one.
template <class H>
struct Images {
    static constexpr int64_t max_block = 16;

    const HalfProduct& s;
    const HalfProductData<H>& d;
    const HalfWindows& w;

    int64_t pixels() const { return w.out[0] * w.out[1]; }
    int64_t blocks_of(int64_t channels) const { return ceil_div(channels, w.block); }

    // Sums are divided between the blocks of channels of a pixel.
    Even blocks() const { return {w.kernel[0] * w.kernel[1] * blocks_of(w.channels), block_depth / w.block}; }
    int64_t first_of_block(const Even& blocks, int64_t i) const {
        const int64_t chunk = blocks.begin(i), of_pixel = blocks_of(w.channels);
        return chunk / of_pixel * w.channels + chunk % of_pixel * w.block;
    }

    // A place in a window: a pixel, and its first channel that counts.
    struct Place {
        int64_t row, column, channel, block;
        Place(const HalfWindows& w, int64_t k)
            : row(k / w.channels / w.kernel[1]),
              column(k / w.channels % w.kernel[1]),
              channel(k % w.channels),
              block(channel / w.block) {}
    };

    void widen(int64_t row, int64_t rows, int64_t k, int64_t depth, float* a) const {
        const Place from(w, k);
        const int64_t image_size = blocks_of(w.channels) * w.in[0] * w.in[1] * w.block;
        const H* x = d.a + row / pixels() * image_size;
        int64_t h = row % pixels() / w.out[1], v = row % pixels() % w.out[1];
        for (int64_t r = 0; r < rows; ++r) {
            widen_window(x, h * w.stride[0] - w.padding[0], v * w.stride[1] - w.padding[1], from, depth,
                         a + r * row_stride);
            if (++v < w.out[1]) continue;
            v = 0;
            if (++h < w.out[0]) continue;
            h = 0;
            x += image_size;
        }
    }
    // `depth` numbers of the window that begins at (top, left).
    void widen_window(const H* x, int64_t top, int64_t left, Place at, int64_t depth, float* a) const {
        while (depth > 0) {
            const int64_t count = std::min(w.channels - at.channel, depth);
            const int64_t h = top + at.row * w.dilation[0], v = left + at.column * w.dilation[1];
            if (h < 0 || h >= w.in[0] || v < 0 || v >= w.in[1])
                std::fill_n(a, count, 0.f);
            else
                widen_channels(x + ((at.block * w.in[0] + h) * w.in[1] + v) * w.block, count, a);
            a += count;
            depth -= count;
            at.channel = at.block = 0;
            if (++at.column < w.kernel[1]) continue;
            at.column = 0;
            ++at.row;
        }
    }
    // The last block is written whole, and what comes next overwrites its zeros.
    void widen_channels(const H* from, int64_t count, float* a) const {
        for (int64_t c = 0; c < count; c += w.block, from += w.in[0] * w.in[1] * w.block)
            for (int64_t i = 0; i < w.block; i += lanes) hn::StoreU(load(from + i), F32(), a + c + i);
    }

    // Calls fn(values, sums, rows, column) for each block of channels of each image: its rows of the part are
    // contiguous in images.
    template <class T, class Fn>
    void for_blocks(const ProductPart& part, T* images, float* sums, Fn fn) const {
        for (int64_t row = part.first_row, end = 0; row < part.last_row; row = end) {
            const int64_t image = row / pixels(), pixel = row % pixels();
            end = std::min(part.last_row, (image + 1) * pixels());
            for (int64_t n = part.first_column; n < part.last_column; n += w.block)
                fn(images + ((image * blocks_of(s.n) + n / w.block) * pixels() + pixel) * w.block,
                   sums + (row - part.first_row) * sums_stride + n - part.first_column, end - row, n);
        }
    }
    void load_residual(const ProductPart& part, float* sums) const {
        HWY_ALIGN float block[HalfProduct::part_rows * max_block];
        for_blocks(part, d.residual, sums, [&](const H* values, float* to, int64_t rows, int64_t) HWY_ATTR {
            halves_to_floats(values, block, rows * w.block);
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t i = 0; i < w.block; i += lanes)
                    hn::StoreU(hn::Load(F32(), block + r * w.block + i), F32(), to + r * sums_stride + i);
        });
    }
    // Channels after the last one stay zero.
    void finish(const ProductPart& part, float* sums) const {
        HWY_ALIGN float block[HalfProduct::part_rows * max_block];
        for_blocks(part, d.y, sums, [&](H* values, const float* from, int64_t rows, int64_t n) HWY_ATTR {
            HWY_ALIGN float bias[max_block] = {};
            if (d.bias) halves_to_floats(d.bias + n, bias, std::min(w.block, s.n - n));
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t i = 0; i < w.block; i += lanes)
                    hn::Store(
                        hn::Add(hn::LoadU(F32(), from + r * sums_stride + i), hn::Load(F32(), bias + i)),
                        F32(), block + r * w.block + i);
            activate(s.activation, block, rows * w.block);
            floats_to_halves(block, values, rows * w.block);
        });
    }
};

// A part of y and its sums, row by row.
template <class H, class Operands>
struct PartOfY {
    const HalfProduct& s;
    const HalfProductData<H>& d;
    const Operands& operands;
    const ProductPart& part;
    float* sums;

    int64_t rows() const { return part.last_row - part.first_row; }
    int64_t width() const { return part.last_column - part.first_column; }

    void start() const {
        const int64_t whole = round_up(width(), columns);
        for (int64_t row = 0; row < rows(); ++row) std::fill_n(sums + row * sums_stride, whole, 0.f);
        if (d.residual) operands.load_residual(part, sums);
    }

    // The sums of `depth` numbers from k on.
    void add(int64_t k, int64_t depth) const {
        HWY_ALIGN float a[max_rows * row_stride];
        const Even tiles(rows(), max_rows);
        for (int64_t tile = 0; tile < tiles.count; ++tile) {
            const int64_t first = tiles.begin(tile), height = tiles.begin(tile + 1) - first;
            operands.widen(part.first_row + first, height, k, depth, a);
            int64_t n = 0;
            for (; panels_of_row > 1 && rows() == 1 && n + panels_of_row * columns <= width();
                 n += panels_of_row * columns)
                add_panels_of_row<panels_of_row>(
                    a, d.b + (part.first_column + n) / columns * s.panel + k * columns, s.panel, depth,
                    sums + n);
            for (; n < width(); n += columns) {
                const H* b = d.b + (part.first_column + n) / columns * s.panel + k * columns;
                const H* next =
                    k + depth < s.k ? b + depth * columns : b - k * columns + width() / columns * s.panel;
                add_panels<H>[size_t(height - 1)](a, b, depth, sums + first * sums_stride + n,
                                                  {next + depth * tile / tiles.count * columns, tiles.count});
            }
        }
    }

    void compute() const {
        start();
        const Even blocks = operands.blocks();
        for (int64_t i = 0; i < blocks.count; ++i) {
            const int64_t k = operands.first_of_block(blocks, i);
            add(k, operands.first_of_block(blocks, i + 1) - k);
        }
        operands.finish(part, sums);
    }
};

template <class H, class Operands>
void multiply_part(const Operands& operands, const ProductPart& part) {
    HWY_ALIGN float sums[HalfProduct::part_rows * sums_stride];
    PartOfY<H, Operands>{operands.s, operands.d, operands, part, sums}.compute();
}
template <class H>
void of_matrices(const HalfProduct& s, const HalfProductData<H>& d, const ProductPart& part) {
    multiply_part<H>(Matrices<H>{s, d}, part);
}
template <class H>
void of_windows(const HalfProduct& s, const HalfProductData<H>& d, const ProductPart& part,
                const HalfWindows& w) {
    multiply_part<H>(Images<H>{s, d, w}, part);
}

}  // namespace

HalfProductFunctions<Half> f16_product_functions() { return {of_matrices<Half>, of_windows<Half>}; }
HalfProductFunctions<BFloat16> bf16_product_functions() {
    return {of_matrices<BFloat16>, of_windows<BFloat16>};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(f16_product_functions);
HWY_EXPORT(bf16_product_functions);
const HalfProductFunctions<Half>& functions(Half) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(f16_product_functions)());
    return best;
}
const HalfProductFunctions<BFloat16>& functions(BFloat16) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(bf16_product_functions)());
    return best;
}

}  // namespace

void half_product(const HalfProduct& shape, const HalfProductData<Half>& data, const ProductPart& part) {
    functions(Half()).of_matrices(shape, data, part);
}
void half_product(const HalfProduct& shape, const HalfProductData<BFloat16>& data, const ProductPart& part) {
    functions(BFloat16()).of_matrices(shape, data, part);
}
void half_product(const HalfProduct& shape, const HalfProductData<Half>& data, const ProductPart& part,
                  const HalfWindows& windows) {
    functions(Half()).of_windows(shape, data, part, windows);
}
void half_product(const HalfProduct& shape, const HalfProductData<BFloat16>& data, const ProductPart& part,
                  const HalfWindows& windows) {
    functions(BFloat16()).of_windows(shape, data, part, windows);
}

}  // namespace mge::cpu
#endif
