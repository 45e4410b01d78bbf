// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/depthwise.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/convolution/depthwise.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"
#include "libmge/kernel/cpu/rows/channel_vectors-inl.h"
#include "libmge/kernel/cpu/rows/round_half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
// Pixels of a tile: their sums, a row of a window and a column of x fit in the registers.
constexpr int max_pixels = 8;
// Number of floats in neighbouring rows that are computed tile by tile, so that the properties of a tile are
// computed once for all of them. They stay in the L1 cache for activations in separate functions.
constexpr int64_t floats_together = 1 << 11;

int64_t blocks(const Depthwise& s) { return ceil_div(s.channels, block); }
int64_t count_rows(const Depthwise& s) { return s.items * blocks(s) * s.out[0]; }

HWY_INLINE Vec finish(Activation activation, Vec y) {
    if (activation == Activation::relu) return relu(y);
    if (activation == Activation::relu6) return relu6(y);
    if (activation == Activation::relu_keeps_nan) return relu_keeps_nan(y);
    if (activation == Activation::relu6_keeps_nan) return relu6_keeps_nan(y);
    return activation == Activation::hswish ? hswish(y) : y;
}

// Vectors of channels. Two vectors of bf16 are the channels with even numbers, and the others.
template <int V>
HWY_INLINE void load(const float* x, Vec (&y)[V]) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) y[v] = hn::LoadU(Channels(), x + v * lanes);
}
template <int V>
HWY_INLINE void store(const Vec (&y)[V], float* to) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) hn::StoreU(y[v], Channels(), to + v * lanes);
}
// Vectors of f32 in a tile: a whole block on Arm, which has the registers, and loads and stores pairs.
constexpr int float_vectors = HWY_TARGET == HWY_NEON ? block / lanes : 1;

#if HWY_TARGET <= HWY_AVX3

using Words = hn::RebindToUnsigned<Channels>;

HWY_INLINE void load(const BFloat16* x, Vec (&y)[1]) {
    const hn::Rebind<uint16_t, Channels> shorts;
    const auto bits = hn::PromoteTo(Words(), hn::LoadU(shorts, reinterpret_cast<const uint16_t*>(x)));
    y[0] = hn::BitCast(Channels(), hn::ShiftLeft<16>(bits));
}
HWY_INLINE void load(const Half* x, Vec (&y)[1]) {
    const hn::Rebind<hwy::float16_t, Channels> shorts;
    y[0] = hn::PromoteTo(Channels(), hn::LoadU(shorts, reinterpret_cast<const hwy::float16_t*>(x)));
}
HWY_INLINE void store(const Vec (&y)[1], Half* to) {
    const hn::Rebind<hwy::float16_t, Channels> shorts;
    hn::StoreU(hn::DemoteTo(shorts, y[0]), shorts, reinterpret_cast<hwy::float16_t*>(to));
}
HWY_INLINE void load(const BFloat16* x, Vec (&y)[2]) {
    const auto bits = hn::BitCast(
        Words(), hn::LoadU(hn::Repartition<uint16_t, Words>(), reinterpret_cast<const uint16_t*>(x)));
    y[0] = hn::BitCast(Channels(), hn::ShiftLeft<16>(bits));
    y[1] = hn::BitCast(Channels(), hn::And(bits, hn::Set(Words(), 0xffff0000)));
}
HWY_INLINE void store(const Vec (&y)[1], BFloat16* to) { store_rounded(Channels(), y[0], to); }
// To nearest. NaN stays NaN: the lower half of its bits is 0, because it comes from bf16 or an operation.
HWY_INLINE void store(const Vec (&y)[2], BFloat16* to) {
    const hn::Repartition<uint16_t, Words> shorts;
    const auto half = hn::Set(Words(), 0x8000);
    const auto even = hn::ShiftRight<16>(hn::Add(hn::BitCast(Words(), y[0]), half));
    const auto odd = hn::Add(hn::BitCast(Words(), y[1]), half);
    hn::StoreU(hn::OddEven(hn::BitCast(shorts, odd), hn::BitCast(shorts, even)), shorts,
               reinterpret_cast<uint16_t*>(to));
}

#endif

template <int V>
HWY_INLINE void load_bias(const DepthwiseData& d, int64_t channel, int64_t channels, Vec (&y)[V]) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) y[v] = load_bias(d.bias, channel + v * lanes, channels);
}
template <class H, int V>
HWY_INLINE void load_bias(const DepthwiseOperands<H>& d, int64_t channel, int64_t, Vec (&y)[V]) {
    if (d.bias) return load(d.bias + channel, y);
    for (Vec& zero : y) zero = hn::Zero(Channels());
}

// From a pixel to its neighbour.
template <class T>
HWY_INLINE int64_t pixel_step(const Depthwise& s) {
    return std::is_same_v<T, float> ? block : s.channels;
}

// Neighbouring pixels of a row of y, some channels of them.
template <class T>
struct Tile {
    const T* x;  // the first pixel's window, as if it began in the first row of x
    const float* weight;
    int64_t x_row;        // from row to row
    int64_t first, last;  // columns of x that are in the image, relative to the first pixel's window
    int64_t channel;
    T* y;
};

// R pixels of `count` rows of y, the first of which is `row`, in V vectors each; Whole: all columns are in
// the image. Otherwise at most a window without its last column is outside.
template <class T, int V, int K, int S, int R, bool Whole>
void compute(const Depthwise& s, const DepthwiseOperands<T>& d, const Tile<T>& t, int64_t row,
             int64_t count) {
    constexpr int columns = (R - 1) * S + K;
    constexpr int64_t weights = std::is_same_v<T, float> ? block : V * block;
    const int64_t step = pixel_step<T>(s);
    const int64_t x_row = t.x_row, first = t.first, last = t.last, y_row = s.out[1] * step;
    T* y = t.y;
    for (int64_t above = row * S - s.padding[0]; count > 0; --count, above += S, y += y_row) {
        const int64_t first_row = std::clamp<int64_t>(-above, 0, K);
        const int64_t end_row = std::clamp<int64_t>(s.in[0] - above, first_row, K);
        const T* x = t.x + (above + first_row) * x_row;
        const float* weight = t.weight + first_row * K * weights;
        Vec sums[R][V], bias[V];
        load_bias(d, t.channel, s.channels, bias);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sums[r][v] = bias[v];
        for (int64_t rest = end_row - first_row; rest > 0; --rest, x += x_row, weight += K * weights) {
            Vec window[K][V];
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
#pragma GCC unroll 2
                for (int v = 0; v < V; ++v)
                    window[k][v] = hn::LoadU(Channels(), weight + k * weights + v * lanes);
#pragma GCC unroll 32
            for (int c = 0; c < columns; ++c) {
                const bool may_be_beside = !Whole && (c < K - 1 || c > columns - K);
                if (may_be_beside && (c < first || c >= last)) continue;
                Vec column[V];
                load(x + c * step, column);
#pragma GCC unroll 8
                for (int k = 0; k < K; ++k)
                    if (c >= k && (c - k) % S == 0 && (c - k) / S < R)
#pragma GCC unroll 2
                        for (int v = 0; v < V; ++v)
                            sums[(c - k) / S][v] = add_product(column[v], window[k][v], sums[(c - k) / S][v]);
            }
        }
        if (const T* residual = d.residual ? d.residual + (y - d.y) : nullptr)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                Vec added[V];
                load(residual + r * step, added);
#pragma GCC unroll 2
                for (int v = 0; v < V; ++v) sums[r][v] = hn::Add(sums[r][v], added[v]);
            }
        const Activation activation = s.activation;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sums[r][v] = finish(activation, sums[r][v]);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) store(sums[r], y + r * step);
    }
}

template <class T>
using Compute = void (*)(const Depthwise&, const DepthwiseOperands<T>&, const Tile<T>&, int64_t, int64_t);
template <class T>
using ByPixels = std::array<std::array<Compute<T>, 2>, max_pixels>;
template <class T, int V, int K, int S, int... R>
constexpr ByPixels<T> compute_by_pixels(std::integer_sequence<int, R...>) {
    return {{{compute<T, V, K, S, R + 1, false>, compute<T, V, K, S, R + 1, true>}...}};
}
template <class T, int V, int K, int S>
constexpr ByPixels<T> computes = compute_by_pixels<T, V, K, S>(std::make_integer_sequence<int, max_pixels>());

template <class T, int V>
const ByPixels<T>& computes_of(const Depthwise& s) {
    if (s.window == 3) return s.stride == 1 ? computes<T, V, 3, 1> : computes<T, V, 3, 2>;
    return s.stride == 1 ? computes<T, V, 5, 1> : computes<T, V, 5, 2>;
}

// Calls fn(compute, begin, left, first, last) for tiles of a row that are as even as can be: they begin with
// a pixel of y and a column of x, and see the columns from `first` to before `last`.
template <class T, int V, class Fn>
HWY_INLINE void for_tiles(const Depthwise& s, Fn&& fn) {
    const ByPixels<T>& list = computes_of<T, V>(s);
    const int64_t width = s.out[1], tiles = ceil_div(width, max_pixels);
    const int64_t least = width / tiles, larger = width % tiles;
    for (int64_t i = 0, begin = 0; i < tiles; ++i) {
        const int64_t pixels = least + (i < larger ? 1 : 0);
        const int64_t left = begin * s.stride - s.padding[1], columns = (pixels - 1) * s.stride + s.window;
        const int64_t first = std::max<int64_t>(-left, 0), last = std::min(s.in[1] - left, columns);
        fn(list[size_t(pixels - 1)][first == 0 && last == columns], begin, left, first, last);
        begin += pixels;
    }
}

// Neighbouring rows of a block of channels of y.
void compute_rows(const Depthwise& s, const DepthwiseData& d, int64_t plane, int64_t row, int64_t count) {
    const int64_t channels = plane % blocks(s);
    const float* x = d.x + plane * s.in[0] * s.in[1] * block;
    const float* weight = d.weight + channels * s.window * s.window * block;
    float* y = d.y + (plane * s.out[0] + row) * s.out[1] * block;
    for_tiles<float, float_vectors>(
        s, [&](auto compute, int64_t begin, int64_t left, int64_t first, int64_t last) {
            for (int64_t c = 0; c < block; c += float_vectors * lanes)
                compute(s, d,
                        {x + left * block + c, weight + c, s.in[1] * block, first, last, channels * block + c,
                         y + begin * block + c},
                        row, count);
        });
}

void compute_all_rows(const Depthwise& s, const DepthwiseData& d, int64_t first, int64_t last) {
    const int64_t row_floats = s.out[1] * block;
    const int64_t together = ceil_div(floats_together, row_floats);
    for (int64_t i = first; i < last;) {
        const int64_t plane = i / s.out[0], row = i % s.out[0];
        const int64_t count = std::min({together, s.out[0] - row, last - i});
        compute_rows(s, d, plane, row, count);
        if (is_apart(s.activation)) activate(s.activation, d.y + i * row_floats, count * row_floats);
        i += count;
    }
}

#if HWY_TARGET <= HWY_AVX3

// Neighbouring rows of y whose pixels of x are in the L1 cache for all of them.
constexpr int64_t rows_together = 4;

// Images in blocks of channels are images of the channels of one block, whose windows are their own.
template <class H>
void compute_half_blocks(const Depthwise& s, const DepthwiseOperands<H>& d, int64_t first, int64_t last) {
    Depthwise one = s;
    one.channels = block;
    for (int64_t i = first, count = 0; i < last; i += count) {
        const int64_t plane = i / s.out[0], row = i % s.out[0], channel = plane % blocks(s) * block;
        count = std::min({rows_together, s.out[0] - row, last - i});
        const H* x = d.x + plane * s.in[0] * s.in[1] * block;
        H* y = d.y + i * s.out[1] * block;
        for_tiles<H, 1>(s, [&](auto compute, int64_t begin, int64_t left, int64_t from, int64_t to) {
            compute(one, d,
                    {x + left * block, d.weight + channel * s.window * s.window, s.in[1] * block, from, to,
                     channel, y + begin * block},
                    row, count);
        });
    }
}

// Channels from `first_channel` on in blocks of V vectors; returns the end of the last one.
template <int V>
int64_t compute_blocks(const Depthwise& s, const DepthwiseHalves& d, int64_t i, int64_t count,
                       int64_t first_channel) {
    constexpr int64_t together = V * lanes;
    const int64_t item = i / s.out[0], row = i % s.out[0];
    const int64_t end = first_channel + (s.channels - first_channel) / together * together;
    const BFloat16* x = d.x + item * s.in[0] * s.in[1] * s.channels;
    BFloat16* y = d.y + i * s.out[1] * s.channels;
    for_tiles<BFloat16, V>(s, [&](auto compute, int64_t begin, int64_t left, int64_t first, int64_t last) {
        for (int64_t c = first_channel; c < end; c += together)
            compute(s, d,
                    {x + left * s.channels + c, d.weight + c * s.window * s.window, s.in[1] * s.channels,
                     first, last, c, y + begin * s.channels + c},
                    row, count);
    });
    return end;
}

void compute_halves(const Depthwise& s, const DepthwiseHalves& d, int64_t first, int64_t last) {
    static_assert(lanes == depthwise_halves_block);
    for (int64_t i = first, count = 0; i < last; i += count) {
        count = std::min({rows_together, s.out[0] - i % s.out[0], last - i});
        const int64_t end = compute_blocks<2>(s, d, i, count, 0);
        if (end < s.channels) compute_blocks<1>(s, d, i, count, end);
    }
}

#else

constexpr auto compute_halves = nullptr;
template <class H>
constexpr auto compute_half_blocks = nullptr;

#endif

}  // namespace

DepthwiseFunctions depthwise_functions() {
    return {count_rows, compute_all_rows, compute_halves, compute_half_blocks<BFloat16>,
            compute_half_blocks<Half>};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(depthwise_functions);
const DepthwiseFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(depthwise_functions)());
    return best;
}

}  // namespace

bool Depthwise::has(int64_t window, int64_t stride) {
    return (window == 3 || window == 5) && (stride == 1 || stride == 2);
}
int64_t Depthwise::rows() const { return functions().count_rows(*this); }

void depthwise(const Depthwise& shape, const DepthwiseData& data, int64_t first, int64_t last) {
    functions().compute_rows(shape, data, first, last);
}
void depthwise(const Depthwise& shape, const DepthwiseHalves& data, int64_t first, int64_t last) {
    functions().compute_halves(shape, data, first, last);
}
void depthwise_in_blocks(const Depthwise& shape, const DepthwiseHalves& data, int64_t first, int64_t last) {
    functions().compute_bf16_blocks(shape, data, first, last);
}
void depthwise_in_blocks(const Depthwise& shape, const DepthwiseOperands<Half>& data, int64_t first,
                         int64_t last) {
    functions().compute_f16_blocks(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
