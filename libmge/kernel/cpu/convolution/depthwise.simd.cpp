// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/depthwise.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/convolution/depthwise.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/channel_vectors-inl.h"

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

// Neighbouring pixels of a row of y, some channels of them.
struct Tile {
    const float *x, *weight;  // the first pixel's window, as if it began in the first row of x
    int64_t x_row;            // from row to row
    int64_t first, last;      // columns of x that are in the image, relative to the first pixel's window
    int64_t channel;
    float* y;
};

// R pixels of `count` rows of y, the first of which is `row`; Whole: all columns are in the image. Otherwise
// at most a window without its last column is outside.
template <int K, int S, int R, bool Whole>
void compute(const Depthwise& s, const DepthwiseData& d, const Tile& t, int64_t row, int64_t count) {
    const Channels f;
    constexpr int columns = (R - 1) * S + K;
    const int64_t x_row = t.x_row, first = t.first, last = t.last, y_row = s.out[1] * block;
    float* y = t.y;
    for (int64_t above = row * S - s.padding[0]; count > 0; --count, above += S, y += y_row) {
        const int64_t first_row = std::clamp<int64_t>(-above, 0, K);
        const int64_t end_row = std::clamp<int64_t>(s.in[0] - above, first_row, K);
        const float *x = t.x + (above + first_row) * x_row, *weight = t.weight + first_row * K * block;
        Vec sums[R];
        const Vec bias = load_bias(d.bias, t.channel, s.channels);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r] = bias;
        for (int64_t rest = end_row - first_row; rest > 0; --rest, x += x_row, weight += K * block) {
            Vec window[K];
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k) window[k] = hn::LoadU(f, weight + k * block);
#pragma GCC unroll 32
            for (int c = 0; c < columns; ++c) {
                const bool may_be_beside = !Whole && (c < K - 1 || c > columns - K);
                if (may_be_beside && (c < first || c >= last)) continue;
                const Vec column = hn::LoadU(f, x + c * block);
#pragma GCC unroll 8
                for (int k = 0; k < K; ++k)
                    if (c >= k && (c - k) % S == 0 && (c - k) / S < R)
                        sums[(c - k) / S] = hn::MulAdd(column, window[k], sums[(c - k) / S]);
            }
        }
        if (const float* residual = d.residual ? d.residual + (y - d.y) : nullptr)
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sums[r] = hn::Add(sums[r], hn::LoadU(f, residual + r * block));
        const Activation activation = s.activation;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r] = finish(activation, sums[r]);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) hn::StoreU(sums[r], f, y + r * block);
    }
}

using Compute = void (*)(const Depthwise&, const DepthwiseData&, const Tile&, int64_t, int64_t);
using ByPixels = std::array<std::array<Compute, 2>, max_pixels>;
template <int K, int S, int... R>
constexpr ByPixels compute_by_pixels(std::integer_sequence<int, R...>) {
    return {{{compute<K, S, R + 1, false>, compute<K, S, R + 1, true>}...}};
}
template <int K, int S>
constexpr ByPixels computes = compute_by_pixels<K, S>(std::make_integer_sequence<int, max_pixels>());

const ByPixels& computes_of(const Depthwise& s) {
    if (s.window == 3) return s.stride == 1 ? computes<3, 1> : computes<3, 2>;
    return s.stride == 1 ? computes<5, 1> : computes<5, 2>;
}

// Neighbouring rows of a block of channels of y, in tiles that are as even as can be.
void compute_rows(const Depthwise& s, const DepthwiseData& d, int64_t plane, int64_t row, int64_t count) {
    const ByPixels& list = computes_of(s);
    const int64_t channels = plane % blocks(s), width = s.out[1], tiles = ceil_div(width, max_pixels);
    const int64_t least = width / tiles, larger = width % tiles;
    const float* x = d.x + plane * s.in[0] * s.in[1] * block;
    const float* weight = d.weight + channels * s.window * s.window * block;
    float* y = d.y + (plane * s.out[0] + row) * width * block;
    for (int64_t i = 0, begin = 0; i < tiles; ++i) {
        const int64_t pixels = least + (i < larger ? 1 : 0);
        const int64_t left = begin * s.stride - s.padding[1], columns = (pixels - 1) * s.stride + s.window;
        const int64_t first = std::max<int64_t>(-left, 0), last = std::min(s.in[1] - left, columns);
        const Compute compute = list[size_t(pixels - 1)][first == 0 && last == columns];
        for (int64_t c = 0; c < block; c += lanes)
            compute(s, d,
                    {x + left * block + c, weight + c, s.in[1] * block, first, last, channels * block + c,
                     y + begin * block + c},
                    row, count);
        begin += pixels;
    }
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

}  // namespace

DepthwiseFunctions depthwise_functions() { return {count_rows, compute_all_rows}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(depthwise_functions);
const DepthwiseFunctions& functions() {
    static const DepthwiseFunctions best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(depthwise_functions)();
    }();
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

}  // namespace mge::cpu
#endif
