// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/depthwise.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/depthwise.h"
#include "libmge/kernel/cpu/highway_targets.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Channels = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Channels>;
constexpr int64_t lanes = hn::MaxLanes(Channels());
constexpr int64_t block = lanes == 16 ? 16 : 8;
// Of a tile: their sums, a row of a window and a column of x fit the registers.
constexpr int max_pixels = 8;
// Activations that are functions of their own run over so many numbers at once, in the first cache.
constexpr int64_t activated_together = 512;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t blocks(const Depthwise& s) { return ceil_div(s.channels, block); }
int64_t count_rows(const Depthwise& s) { return s.items * blocks(s) * s.out[0]; }

bool is_apart(Activation activation) {
    return activation > Activation::relu6 && activation != Activation::hswish;
}
HWY_INLINE Vec finish(Activation activation, Vec y) {
    const Channels f;
    const Vec zero = hn::Zero(f), six = hn::Set(f, 6.f);
    if (activation == Activation::relu) return hn::IfThenElseZero(hn::Gt(y, zero), y);  // 0 for NaN
    if (activation == Activation::relu6) return hn::Min(hn::Max(y, zero), six);
    if (activation == Activation::hswish) {
        const Vec gate = hn::Min(hn::Max(hn::Add(y, hn::Set(f, 3.f)), zero), six);
        return hn::Mul(hn::Mul(y, gate), hn::Set(f, 1.f / 6));
    }
    return y;
}

HWY_INLINE Vec load_bias(const Depthwise& s, const float* bias, int64_t channel) {
    const Channels f;
    if (!bias || channel >= s.channels) return hn::Zero(f);
    if (channel + lanes <= s.channels) return hn::LoadU(f, bias + channel);
    HWY_ALIGN float rest[lanes] = {};
    for (int64_t i = channel; i < s.channels; ++i) rest[i - channel] = bias[i];
    return hn::Load(f, rest);
}

// Neighbouring pixels of a row of y, some channels of them.
struct Tile {
    const float *x, *weight;  // of the first row of the window that is in the image, the first pixel's window
    int64_t x_row, rows;      // from row to row; how many are in the image
    int64_t first, last;      // columns of x that are in it, counted from the first pixel's window
    int64_t channel;
    float* y;
};

// R pixels; Whole: all columns are in the image.
template <int K, int S, int R, bool Whole>
void compute(const Depthwise& s, const DepthwiseData& d, const Tile& t) {
    const Channels f;
    constexpr int columns = (R - 1) * S + K;
    Vec sums[R];
    const Vec bias = load_bias(s, d.bias, t.channel);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums[r] = bias;
    const float *x = t.x, *weight = t.weight;
    const int64_t x_row = t.x_row, first = t.first, last = t.last;
    for (int64_t rest = t.rows; rest > 0; --rest, x += x_row, weight += K * block) {
        Vec window[K];
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) window[k] = hn::LoadU(f, weight + k * block);
#pragma GCC unroll 32
        for (int c = 0; c < columns; ++c) {
            if (!Whole && (c < first || c >= last)) continue;
            const Vec column = hn::LoadU(f, x + c * block);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
                if (c >= k && (c - k) % S == 0 && (c - k) / S < R)
                    sums[(c - k) / S] = hn::MulAdd(column, window[k], sums[(c - k) / S]);
        }
    }
    float* y = t.y;
    if (const float* residual = d.residual ? d.residual + (y - d.y) : nullptr)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r] = hn::Add(sums[r], hn::LoadU(f, residual + r * block));
    const Activation activation = s.activation;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums[r] = finish(activation, sums[r]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) hn::StoreU(sums[r], f, y + r * block);
}

using Compute = void (*)(const Depthwise&, const DepthwiseData&, const Tile&);
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

// One row of a block of channels of y.
void compute_row(const Depthwise& s, const DepthwiseData& d, int64_t plane, int64_t row) {
    const ByPixels& list = computes_of(s);
    const int64_t channels = plane % blocks(s), width = s.out[1];
    const int64_t above = row * s.stride - s.padding[0];  // where the window begins
    const int64_t first_row = std::clamp<int64_t>(-above, 0, s.window);
    const int64_t end_row = std::clamp<int64_t>(s.in[0] - above, first_row, s.window);
    const float* x = d.x + (plane * s.in[0] + above + first_row) * s.in[1] * block;
    const float* weight = d.weight + (channels * s.window + first_row) * s.window * block;
    float* y = d.y + (plane * s.out[0] + row) * width * block;
    const int64_t tiles = ceil_div(width, max_pixels);
    for (int64_t i = 0; i < tiles; ++i) {
        const int64_t begin = width * i / tiles, pixels = width * (i + 1) / tiles - begin;
        const int64_t left = begin * s.stride - s.padding[1], columns = (pixels - 1) * s.stride + s.window;
        const int64_t first = std::max<int64_t>(-left, 0), last = std::min(s.in[1] - left, columns);
        const Compute compute = list[size_t(pixels - 1)][first == 0 && last == columns];
        for (int64_t c = 0; c < block; c += lanes)
            compute(s, d,
                    {x + left * block + c, weight + c, s.in[1] * block, end_row - first_row, first, last,
                     channels * block + c, y + begin * block + c});
    }
}

void compute_rows(const Depthwise& s, const DepthwiseData& d, int64_t first, int64_t last) {
    const int64_t row_floats = s.out[1] * block;
    const int64_t together = ceil_div(activated_together, row_floats);
    for (int64_t i = first; i < last;) {
        const int64_t end = std::min(i + together, last);
        for (int64_t row = i; row < end; ++row) compute_row(s, d, row / s.out[0], row % s.out[0]);
        if (is_apart(s.activation)) activate(s.activation, d.y + i * row_floats, (end - i) * row_floats);
        i = end;
    }
}

}  // namespace

DepthwiseFunctions depthwise_functions() { return {count_rows, compute_rows}; }

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
