// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/disjoint_windows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/disjoint_windows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;

// Two vectors of the weight times some pixels fill the registers: 32 of them with AVX-512, otherwise 16.
constexpr int columns = 2, most_pixels = HWY_MAX_BYTES >= 64 ? 12 : HWY_TARGET == HWY_NEON ? 8 : 6;

int64_t lanes() { return int64_t(hn::Lanes(D())); }

// The targets of the vectors of one position in the weight, from the first pixel's window on.
struct Column {
    const float* weight;
    float* y;
};

#if HWY_TARGET == HWY_NEON
// Adds the products of channels I and I + 1 of four in each pixel; moves past their weights.
template <int I, int C, int P>
HWY_INLINE void add_two_channels(const hn::Vec<D> (&pixels)[P], const float* (&weight)[C],
                                 hn::Vec<D> (&sum)[P][C]) {
    hn::Vec<D> lines[2][C];
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
        lines[0][c] = hn::LoadU(D(), weight[c]);
        lines[1][c] = hn::LoadU(D(), weight[c] + 4);
        weight[c] += 8;
    }
    add_lane_products<I>(pixels, lines[0], sum);
    add_lane_products<I + 1>(pixels, lines[1], sum);
}
// Products take single numbers of vectors of channels.
template <int C, int P>
HWY_INLINE void multiply_pixels(const DisjointWindows& s, const float* x, const Column (&column)[columns],
                                int64_t y_step) {
    const D d;
    hn::Vec<D> sum[P][C];
    const float* weight[C];
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
        weight[c] = column[c].weight;
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) sum[p][c] = hn::Zero(d);
    }
    for (int64_t begin = 0; begin < s.in_channels; begin += s.x.block, x += s.x.blocks) {
        const float* pixel = x;
        int64_t rest = std::min(s.x.block, s.in_channels - begin);
        for (; rest >= 4; rest -= 4, pixel += 4) {
            hn::Vec<D> pixels[P];
#pragma GCC unroll 8
            for (int p = 0; p < P; ++p) pixels[p] = hn::LoadU(d, pixel + p * s.x.pixel);
            add_two_channels<0>(pixels, weight, sum);
            add_two_channels<2>(pixels, weight, sum);
        }
        for (; rest > 0; --rest, ++pixel)
#pragma GCC unroll 2
            for (int c = 0; c < C; ++c) {
                const auto line = hn::LoadU(d, weight[c]);
                weight[c] += 4;
#pragma GCC unroll 8
                for (int p = 0; p < P; ++p)
                    sum[p][c] = hn::MulAdd(hn::Set(d, pixel[p * s.x.pixel]), line, sum[p][c]);
            }
    }
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) hn::StoreU(sum[p][c], d, column[c].y + p * y_step);
}
#else
template <int C, int P>
HWY_INLINE void multiply_pixels(const DisjointWindows& s, const float* x, const Column (&column)[columns],
                                int64_t y_step) {
    const D d;
    const int64_t n = int64_t(hn::Lanes(d));
    hn::Vec<D> sum[C][P];
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < P; ++p) sum[c][p] = hn::Zero(d);
    int64_t at = 0;
    for (int64_t begin = 0; begin < s.in_channels; begin += s.x.block, x += s.x.blocks) {
        const float* pixel = x;
        for (int64_t end = std::min(begin + s.x.block, s.in_channels), i = begin; i < end;
             ++i, ++pixel, at += n) {
            hn::Vec<D> weight[C];
            for (int c = 0; c < C; ++c) weight[c] = hn::LoadU(d, column[c].weight + at);
            for (int p = 0; p < P; ++p) {
                auto value = hn::Set(d, pixel[p * s.x.pixel]);
                for (int c = 0; c < C; ++c) sum[c][p] = hn::MulAdd(value, weight[c], sum[c][p]);
            }
        }
    }
    for (int c = 0; c < C; ++c)
        for (int p = 0; p < P; ++p) hn::StoreU(sum[c][p], d, column[c].y + p * y_step);
}
#endif

template <int C>
void multiply_row(const DisjointWindows& s, const float* x, const Column (&column)[columns]) {
    const int64_t y_step = s.kernel_width * s.y.pixel;
    Column at[columns];
    std::copy_n(column, columns, at);
    int64_t left = s.width;
    auto run = [&]<int P>() {
        for (; left >= P; left -= P, x += P * s.x.pixel) {
            multiply_pixels<C, P>(s, x, at, y_step);
            for (auto& c : at) c.y += P * y_step;
        }
    };
    run.template operator()<most_pixels>();
    run.template operator()<4>();
    run.template operator()<1>();
}

// The i-th vector of the packed weight: all places of the kernel, and for each the channels.
Column column_of(const DisjointWindows& s, const float* packed, float* y, int64_t row, int64_t i) {
    int64_t groups = s.out_channels / lanes(), channel = i % groups * lanes(), place = i / groups;
    int64_t h = row * s.kernel_height + place / s.kernel_width, w = place % s.kernel_width;
    return {packed + i * s.in_channels * lanes(),
            y + h * s.y.row + w * s.y.pixel + channel / s.y.block * s.y.blocks + channel % s.y.block};
}

void multiply(const DisjointWindows& s, const float* x, const float* packed, float* y, int64_t first,
              int64_t last) {
    const int64_t count = s.kernel_height * s.kernel_width * s.out_channels / lanes();
    for (int64_t row = first; row < last; ++row) {
        const float* pixels = x + row * s.x.row;
        int64_t i = 0;
        for (; i + columns <= count; i += columns) {
            Column pair[columns];
            for (int c = 0; c < columns; ++c) pair[c] = column_of(s, packed, y, row, i + c);
            multiply_row<columns>(s, pixels, pair);
        }
        for (; i < count; ++i) {
            Column column = column_of(s, packed, y, row, i);
            multiply_row<1>(s, pixels, {column, column});
        }
    }
}

constexpr DisjointWindowKernels kernels{lanes, multiply};

}  // namespace

const DisjointWindowKernels* disjoint_window_kernels_of_target() { return &kernels; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(disjoint_window_kernels_of_target);

const DisjointWindowKernels& disjoint_window_kernels() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(disjoint_window_kernels_of_target)();
}

void pack_disjoint_windows(const DisjointWindows& s, int64_t channels, const float* weight, float* packed) {
    const int64_t lanes = disjoint_window_kernels().lanes(), window = s.kernel_height * s.kernel_width;
    for (int64_t place = 0; place < window; ++place)
        for (int64_t begin = 0; begin < s.out_channels; begin += lanes)
            for (int64_t i = 0; i < s.in_channels; ++i)
                for (int64_t c = begin; c < begin + lanes; ++c)
                    *packed++ = c < channels ? weight[(i * channels + c) * window + place] : 0;
}

}  // namespace mge::cpu
#endif
