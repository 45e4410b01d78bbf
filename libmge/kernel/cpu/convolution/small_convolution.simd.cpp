// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/small_convolution.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/small_convolution.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/keep_nan-inl.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vector = hn::Vec<F32>;
constexpr size_t most_lanes = 16;

int64_t lanes() { return int64_t(hn::Lanes(F32())); }

// Max gives the number, or its second operand, if the first one is NaN.
HWY_INLINE Vector rectified(const SmallConvolutionData& d, Vector v) {
    const auto zero = hn::Zero(F32());
    return d.activation == Activation::relu ? hn::Max(v, zero) : at_least(zero, v);
}
HWY_INLINE bool is_rectified(const SmallConvolutionData& d) { return d.activation != Activation::none; }

// The activation of values + residual.
HWY_INLINE void add_residual(const SmallConvolutionData& d, int64_t target, int64_t n, const float* values) {
    for (int64_t i = 0; i < n; ++i) {
        float value = values[i] + d.residual[target + i];
        if (d.activation == Activation::relu) value = value > 0 ? value : 0;
        if (d.activation == Activation::relu_keeps_nan) value = value < 0 ? 0 : value;
        d.y[target + i] = value;
    }
}

// --- pixels in the lanes ---

// Two vectors for each of six channels are twelve sums: they and their operands fit sixteen registers.
constexpr int vectors_together = 2, channels_together = 6;

int64_t span() { return vectors_together * lanes(); }
int64_t spans(const SmallConvolution& s) { return ceil_div(s.height * s.pitch(), span()); }

// Number of values of a channel's y before the vector computed at `at`.
HWY_INLINE int64_t values_before(const SmallConvolution& s, int64_t at) {
    return at / s.pitch() * s.width + std::min(at % s.pitch(), s.width);
}

// Moves the lanes of a vector that belong to y to the front. Compress is not used: for AVX2 it copies a table
// of a kilobyte to the stack each time.
using Lanes = decltype(hn::IndicesFromVec(F32(), hn::Iota(hn::RebindToSigned<F32>(), 0)));
HWY_INLINE Lanes taken_lanes(const SmallConvolution& s, int64_t at) {
    const hn::RebindToSigned<F32> i32;
    const int64_t first = at % s.pitch();
    auto taken = hn::Iota(i32, 0);
    int64_t gap = std::max<int64_t>(s.width - first, 0), next_row = s.pitch() - first;
    for (; gap < lanes(); gap = next_row + s.width, next_row += s.pitch()) {
        auto behind = hn::Add(taken, hn::Set(i32, int32_t(next_row - gap)));
        taken = hn::IfThenElse(hn::Lt(taken, hn::Set(i32, int32_t(gap))), taken, behind);
    }
    // The last ones are unused.
    return hn::IndicesFromVec(F32(), hn::And(taken, hn::Set(i32, int32_t(lanes() - 1))));
}

// Without the columns between rows the values of a vector are contiguous in y, and those of the next vector
// follow: so a whole vector may be stored if the rest is still to be written. `remaining`: number of such
// elements.
HWY_INLINE void store_taken(const SmallConvolutionData& d, Vector values, int64_t target, int64_t count,
                            int64_t remaining) {
    if (HWY_LIKELY(lanes() <= remaining && !d.residual)) return hn::StoreU(values, F32(), d.y + target);
    HWY_ALIGN float buffer[most_lanes];
    hn::Store(values, F32(), buffer);
    count = std::max<int64_t>(std::min(count, remaining), 0);
    if (d.residual) return add_residual(d, target, count, buffer);
    std::memcpy(d.y + target, buffer, size_t(count) * sizeof(float));
}

template <int C>
HWY_INLINE void compute_span(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel,
                             int64_t at, int64_t end) {
    const F32 f;
    const int64_t filter = s.ic * s.kernel_height * s.kernel_width;
    Vector sum0[C], sum1[C];
    for (int c = 0; c < C; ++c) sum0[c] = sum1[c] = hn::Set(f, d.bias ? d.bias[channel + c] : 0.f);
    const float* weight = d.weight + channel * filter;
    for (int64_t ic = 0; ic < s.ic; ++ic)
        for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
            const float* x = d.padded + ic * s.plane() + kh * s.dilation_height * s.pitch() + at;
            for (int64_t kw = 0; kw < s.kernel_width; ++kw, ++weight, x += s.dilation_width) {
                auto x0 = hn::LoadU(f, x), x1 = hn::LoadU(f, x + lanes());
                for (int c = 0; c < C; ++c) {
                    auto w = hn::Set(f, weight[c * filter]);
                    sum0[c] = hn::MulAdd(w, x0, sum0[c]);
                    sum1[c] = hn::MulAdd(w, x1, sum1[c]);
                }
            }
        }
    const auto lanes0 = taken_lanes(s, at), lanes1 = taken_lanes(s, at + lanes());
    const int64_t before0 = values_before(s, at), before1 = values_before(s, at + lanes());
    const int64_t before2 = values_before(s, at + span());
    for (int c = 0; c < C; ++c) {
        if (is_rectified(d) && !d.residual) {
            sum0[c] = rectified(d, sum0[c]);
            sum1[c] = rectified(d, sum1[c]);
        }
        const int64_t target = (channel + c) * s.height * s.width;
        store_taken(d, hn::TableLookupLanes(sum0[c], lanes0), target + before0, before1 - before0,
                    end - before0);
        store_taken(d, hn::TableLookupLanes(sum1[c], lanes1), target + before1, before2 - before1,
                    end - before1);
    }
}

// Spans [first, last) of C channels, which no other thread writes.
template <int C>
void compute_spans(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel, int64_t first,
                   int64_t last) {
    const int64_t end = values_before(s, std::min(last * span(), s.height * s.pitch()));
    for (int64_t i = first; i < last; ++i) compute_span<C>(s, d, channel, i * span(), end);
}

// A row by itself, if that is faster: its last vector ends with it and overlaps the one before, so that
// nothing is dropped.
constexpr int row_vectors_together = HWY_TARGET == HWY_NEON ? 4 : vectors_together;
int64_t row_vectors(const SmallConvolution& s) { return ceil_div(s.width, lanes()); }
bool is_row_wise(const SmallConvolution& s) {
    // Overhead of twelve sums, in elements of the window.
    constexpr int64_t beside_rows = 5, beside_spans = 18;
    const int64_t window = s.ic * s.kernel_height * s.kernel_width;
    return s.width >= lanes() && s.height * row_vectors(s) * (window + beside_rows) <=
                                     spans(s) * vectors_together * (window + beside_spans);
}

// Columns [column + V * lanes) of a row of C channels, those before `written` are there already.
template <int V, int C>
void compute_columns(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel, int64_t row,
                     int64_t column, int64_t written) {
    const F32 f;
    const int64_t filter = s.ic * s.kernel_height * s.kernel_width;
    Vector sums[C][V];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
        const Vector start = hn::Set(f, d.bias ? d.bias[channel + c] : 0.f);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[c][v] = start;
    }
    const float* weight = d.weight + channel * filter;
    for (int64_t ic = 0; ic < s.ic; ++ic)
        for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
            const float* x = d.padded + ic * s.plane() + (row + kh * s.dilation_height) * s.pitch() + column;
            for (int64_t kw = 0; kw < s.kernel_width; ++kw, ++weight, x += s.dilation_width) {
                Vector pixels[V];
#pragma GCC unroll 4
                for (int v = 0; v < V; ++v) pixels[v] = hn::LoadU(f, x + v * lanes());
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) {
                    auto w = hn::Set(f, weight[c * filter]);
#pragma GCC unroll 4
                    for (int v = 0; v < V; ++v) sums[c][v] = hn::MulAdd(w, pixels[v], sums[c][v]);
                }
            }
        }
    const int64_t plane = s.height * s.width, target = channel * plane + row * s.width;
    if (d.residual) {
        // y may share memory with the residual, so nothing is added twice.
        HWY_ALIGN float values[V * most_lanes];
#pragma GCC unroll 8  // or compilers keep all sums in memory
        for (int c = 0; c < C; ++c) {
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) hn::Store(sums[c][v], f, values + v * lanes());
            add_residual(d, target + c * plane + written, column + V * lanes() - written,
                         values + (written - column));
        }
        return;
    }
    if (is_rectified(d))
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sums[c][v] = rectified(d, sums[c][v]);
    float* y = d.y + target + column;
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) hn::StoreU(sums[c][v], f, y + c * plane + v * lanes());
}

using ComputeColumns = decltype(&compute_columns<1, 1>);
template <int C, int... V>
constexpr std::array<ComputeColumns, row_vectors_together> columns_of(std::integer_sequence<int, V...>) {
    return {compute_columns<V + 1, C>...};
}

// Rows [first, last) of C channels.
template <int C>
void compute_rows(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel, int64_t first,
                  int64_t last) {
    constexpr auto compute = columns_of<C>(std::make_integer_sequence<int, row_vectors_together>());
    const int64_t most_vectors = std::min<int64_t>(row_vectors_together, s.width / lanes());
    for (int64_t row = first; row < last; ++row)
        for (int64_t written = 0; written < s.width;) {
            const int64_t vectors = std::min(most_vectors, ceil_div(s.width - written, lanes()));
            const int64_t column = std::min(written, s.width - vectors * lanes());
            compute[size_t(vectors - 1)](s, d, channel, row, column, written);
            written = column + vectors * lanes();
        }
}

// Rows or spans of channels that are computed together.
int64_t parts_of_channels(const SmallConvolution& s) { return is_row_wise(s) ? s.height : spans(s); }
int64_t pixel_items(const SmallConvolution& s) {
    return ceil_div(s.oc, channels_together) * parts_of_channels(s);
}
int64_t pixel_vectors(const SmallConvolution& s) {
    return s.oc * parts_of_channels(s) * (is_row_wise(s) ? row_vectors(s) : vectors_together);
}

void compute_pixels(const SmallConvolution& s, const SmallConvolutionData& d, int64_t first, int64_t last) {
    using Compute = decltype(&compute_spans<1>);
    constexpr Compute spans_of[] = {compute_spans<1>, compute_spans<2>, compute_spans<3>,
                                    compute_spans<4>, compute_spans<5>, compute_spans<6>};
    constexpr Compute rows_of[] = {compute_rows<1>, compute_rows<2>, compute_rows<3>,
                                   compute_rows<4>, compute_rows<5>, compute_rows<6>};
    const auto& by_channels = is_row_wise(s) ? rows_of : spans_of;
    const int64_t parts = parts_of_channels(s);
    while (first < last) {
        const int64_t group = first / parts, channel = group * channels_together;
        const int64_t next = std::min(last, (group + 1) * parts), begin = group * parts;
        by_channels[std::min<int64_t>(s.oc - channel, channels_together) - 1](s, d, channel, first - begin,
                                                                              next - begin);
        first = next;
    }
}

// --- channels in the lanes ---

// So many sums, their weights and an element of x fit in sixteen registers, or Arm's 32 with the elements in
// vectors. Two blocks of channels share the elements, which cost a load each: with one there are more loads
// than products.
constexpr int most_sums = HWY_TARGET == HWY_NEON ? 20 : 12, most_blocks = 2;

int64_t channel_blocks(const SmallConvolution& s) { return ceil_div(s.oc, lanes()); }
int64_t blocks_together(const SmallConvolution& s) {
    return std::min<int64_t>(channel_blocks(s), most_blocks);
}

// sums (P, B) += P pixels times one vector of each block's weights.
template <int P, int B, int... i>
HWY_INLINE void add_pixels(const float* x, const Vector (&w)[B], Vector (&sums)[P][B],
                           std::integer_sequence<int, i...>) {
#if HWY_TARGET == HWY_NEON
    // Products take single numbers of vectors, the last of which ends with the pixels: the image may end
    // there.
    if constexpr (P >= 4) {
        constexpr auto first = [](int p) { return std::min(p / 4 * 4, P - 4); };
        Vector pixels[(P + 3) / 4];
#pragma GCC unroll 5
        for (int n = 0; n < (P + 3) / 4; ++n) pixels[n] = hn::LoadU(F32(), x + first(4 * n));
        ((sums[i % P][i / P] =
              add_lane_product<i % P - first(i % P)>(pixels[i % P / 4], w[i / P], sums[i % P][i / P])),
         ...);
        return;
    }
#endif
    for (int p = 0; p < P; ++p) {
        const auto pixel = hn::Set(F32(), x[p]);
        for (int b = 0; b < B; ++b) sums[p][b] = hn::MulAdd(pixel, w[b], sums[p][b]);
    }
}

// Pixels [column, column + P) of a row, of B blocks of channels.
template <int B, int P>
void compute_run(const SmallConvolution& s, const SmallConvolutionData& d, int64_t block, int64_t row,
                 int64_t column) {
    const F32 f;
    const int64_t channel = block * lanes(), channels = std::min(B * lanes(), s.oc - channel);
    const int64_t block_weights = lanes() * s.ic * s.kernel_height * s.kernel_width;
    HWY_ALIGN float bias[B * most_lanes] = {};
    if (d.bias) std::memcpy(bias, d.bias + channel, size_t(channels) * sizeof(float));
    Vector sums[P][B];
    for (int p = 0; p < P; ++p)
        for (int b = 0; b < B; ++b) sums[p][b] = hn::Load(f, bias + b * lanes());
    const float* weight = d.weight + block * block_weights;
    for (int64_t ic = 0; ic < s.ic; ++ic)
        for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
            const float* x = d.padded + ic * s.plane() + (row + kh * s.dilation_height) * s.pitch() + column;
            for (int64_t kw = 0; kw < s.kernel_width; ++kw, weight += lanes(), x += s.dilation_width) {
                Vector w[B];
                for (int b = 0; b < B; ++b) w[b] = hn::LoadU(f, weight + b * block_weights);
                add_pixels(x, w, sums, std::make_integer_sequence<int, P * B>());
            }
        }
    const int64_t step = B * lanes(), plane = s.height * s.width;
    HWY_ALIGN float turned[P * B * most_lanes], values[B * most_lanes * P];
    for (int p = 0; p < P; ++p)
        for (int b = 0; b < B; ++b)
            hn::Store(is_rectified(d) && !d.residual ? rectified(d, sums[p][b]) : sums[p][b], f,
                      turned + p * step + b * lanes());
    const int64_t target = (channel * s.height + row) * s.width + column;
    if (!d.residual) return transpose_rows(turned, step, P, channels, d.y + target, plane);
    transpose_rows(turned, step, P, channels, values, P);
    for (int64_t c = 0; c < channels; ++c) add_residual(d, target + c * plane, P, values + c * P);
}

int64_t channel_items(const SmallConvolution& s) {
    return ceil_div(channel_blocks(s), blocks_together(s)) * s.height;
}
int64_t channel_vectors(const SmallConvolution& s) { return channel_blocks(s) * s.height * s.width; }

using ComputeRun = decltype(&compute_run<1, 1>);
template <int B, int... P>
constexpr std::array<ComputeRun, most_sums> runs_of(std::integer_sequence<int, P...>) {
    return {compute_run<B, P + 1>...};
}
constexpr std::array<ComputeRun, most_sums> runs[] = {
    runs_of<1>(std::make_integer_sequence<int, most_sums>()),
    runs_of<2>(std::make_integer_sequence<int, most_sums / 2>())};

// An item is a row of some blocks of channels, cut into equal runs of pixels.
void compute_channels(const SmallConvolution& s, const SmallConvolutionData& d, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
        const int64_t block = i / s.height * blocks_together(s);
        const int64_t blocks = std::min(blocks_together(s), channel_blocks(s) - block);
        const int64_t run = ceil_div(s.width, ceil_div(s.width, most_sums / blocks));
        for (int64_t column = 0; column < s.width; column += run)
            runs[blocks - 1][size_t(std::min(run, s.width - column) - 1)](s, d, block, i % s.height, column);
    }
}

}  // namespace

SmallConvolutionKernels convolution_kernels() {
    return {{pixel_items, pixel_vectors, compute_pixels},
            {channel_items, channel_vectors, compute_channels},
            lanes()};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(convolution_kernels);

const SmallConvolutionKernels& small_convolution_kernels() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(convolution_kernels)());
    return best;
}

// The last vectors reach over the end of the last plane by less than one span.
int64_t SmallConvolution::workspace_floats() const {
    constexpr int64_t slack = 64;
    return ic * plane() + dilation_width * kernel_width + slack;
}

void pad_image(const SmallConvolution& s, const float* x, float* padded) {
    std::memset(padded, 0, size_t(s.workspace_floats()) * sizeof(float));
    for (int64_t c = 0; c < s.ic; ++c)
        for (int64_t h = 0; h < s.in_height; ++h)
            std::memcpy(padded + c * s.plane() + (h + s.pad_height) * s.pitch() + s.pad_width,
                        x + (c * s.in_height + h) * s.in_width, size_t(s.in_width) * sizeof(float));
}

}  // namespace mge::cpu
#endif
