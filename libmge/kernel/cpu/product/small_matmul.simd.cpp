// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/small_matmul.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//

#include <algorithm>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/small_matmul.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and columns computed together: enough independent sums to hide the latency of a fused multiply-add.
constexpr int64_t rows_together = 4, columns_together = 4;

float start(const SmallMatmulData& d, int64_t n, int64_t row, int64_t column) {
    return (d.bias ? d.bias[column] : 0) + (d.residual ? d.residual[row * n + column] : 0);
}

// b is contiguous along n: a row of y is a sum of rows of b. V vectors of R rows.
template <int R, int V, class D>
HWY_INLINE void sum_rows(D d, const SmallMatmul& s, const SmallMatmulData& data, int64_t row,
                         int64_t column) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<D> sum[R][V];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) {
            int64_t at = column + v * lanes;
            sum[r][v] = data.bias ? hn::LoadU(d, data.bias + at) : hn::Zero(d);
            if (data.residual)
                sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, data.residual + (row + r) * s.n + at));
        }
    const float* b = data.b + column;
    const float* a = data.a + row * s.a_stride_m;
    for (int64_t k = 0; k < s.k; ++k, b += s.b_stride_k, a += s.a_stride_k)
        for (int v = 0; v < V; ++v) {
            auto x = hn::LoadU(d, b + v * lanes);
            for (int r = 0; r < R; ++r) sum[r][v] = hn::MulAdd(hn::Set(d, a[r * s.a_stride_m]), x, sum[r][v]);
        }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, data.y + (row + r) * s.n + column + v * lanes);
}

// Rows of b read side by side. Each is a stream of its own for the processor's prefetcher, which follows a
// stream to the end of its page only: one stream reads half as fast from beyond the second cache. Their
// factors are in registers.
constexpr int streams = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 8 : 16;
// Columns whose sums stay in the first cache.
constexpr int64_t strip_columns = 4096;

// Adds R rows of b, from b on, times the numbers of a to columns [0, n) of y, in the order of sum_rows().
template <int R, class D>
HWY_INLINE void add_rows(D d, const SmallMatmul& s, const float* a, const float* b, int64_t n, float* y) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<D> numbers[R];
    for (int r = 0; r < R; ++r) numbers[r] = hn::Set(d, a[r * s.a_stride_k]);
    for (int64_t i = 0; i < n; i += lanes) {
        auto sum = hn::LoadU(d, y + i);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sum = hn::MulAdd(numbers[r], hn::LoadU(d, b + r * s.b_stride_k + i), sum);
        hn::StoreU(sum, d, y + i);
    }
}

// Columns [first, last), a whole number of vectors.
template <class D>
void sum_strip(D d, const SmallMatmul& s, const SmallMatmulData& data, int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) data.y[n] = start(data, s.n, 0, n);
    auto add = [&]<int R>(int64_t k) HWY_ATTR {
        add_rows<R>(d, s, data.a + k * s.a_stride_k, data.b + k * s.b_stride_k + first, last - first,
                    data.y + first);
    };
    int64_t k = 0;
    for (; k + streams <= s.k; k += streams) add.template operator()<streams>(k);
    for (; k + 4 <= s.k; k += 4) add.template operator()<4>(k);
    for (; k < s.k; ++k) add.template operator()<1>(k);
}

// Returns the end of the columns that it has computed.
HWY_INLINE int64_t sum_strips(const SmallMatmul& s, const SmallMatmulData& data, int64_t first,
                              int64_t last) {
    const hn::ScalableTag<float> d;
    if (s.m != 1 || s.k < 2 * streams) return first;
    const int64_t lanes = int64_t(hn::Lanes(d)), end = first + (last - first) / lanes * lanes;
    for (int64_t n = first; n < end; n += strip_columns)
        sum_strip(d, s, data, n, std::min(n + strip_columns, end));
    return end;
}

template <int R>
HWY_INLINE void rows_of_sums(const SmallMatmul& s, const SmallMatmulData& data, int64_t row, int64_t first,
                             int64_t last) {
    const hn::ScalableTag<float> full;
    const hn::CappedTag<float, 4> quarter;
    const hn::CappedTag<float, 1> single;
    const int64_t lanes = int64_t(hn::Lanes(full)), few = int64_t(hn::Lanes(quarter));
    int64_t n = R == 1 ? sum_strips(s, data, first, last) : first;
    for (; n + 4 * lanes <= last; n += 4 * lanes) sum_rows<R, 4>(full, s, data, row, n);
    for (; n + lanes <= last; n += lanes) sum_rows<R, 1>(full, s, data, row, n);
    for (; n + few <= last; n += few) sum_rows<R, 1>(quarter, s, data, row, n);
    for (; n < last; ++n) sum_rows<R, 1>(single, s, data, row, n);
}

// b is contiguous along k: an element of y is a product of two rows, in P partial sums.
template <int C, int P>
HWY_INLINE void dot_rows(const SmallMatmul& s, const SmallMatmulData& data, int64_t row, int64_t column) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<decltype(d)> sum[C][P];
    for (auto& parts : sum)
        for (auto& part : parts) part = hn::Zero(d);
    const float* a = data.a + row * s.a_stride_m;
    const float* b = data.b + column * s.b_stride_n;
    int64_t k = 0;
    for (; k + P * lanes <= s.k; k += P * lanes)
        for (int p = 0; p < P; ++p) {
            const int64_t at = k + p * lanes;
            auto x = hn::LoadU(d, a + at);
            for (int c = 0; c < C; ++c)
                sum[c][p] = hn::MulAdd(x, hn::LoadU(d, b + c * s.b_stride_n + at), sum[c][p]);
        }
    for (; k + lanes <= s.k; k += lanes) {
        auto x = hn::LoadU(d, a + k);
        for (int c = 0; c < C; ++c)
            sum[c][0] = hn::MulAdd(x, hn::LoadU(d, b + c * s.b_stride_n + k), sum[c][0]);
    }
    for (int c = 0; c < C; ++c) {
        for (int p = 1; p < P; ++p) sum[c][0] = hn::Add(sum[c][0], sum[c][p]);
        float total = start(data, s.n, row, column + c) + hn::GetLane(hn::SumOfLanes(d, sum[c][0]));
        for (int64_t rest = k; rest < s.k; ++rest) total += a[rest] * b[c * s.b_stride_n + rest];
        data.y[row * s.n + column + c] = total;
    }
}

void multiply(const SmallMatmul& s, const SmallMatmulData& data, int64_t first, int64_t last) {
    // A single column has both strides. The sum of its rows would have one lane.
    const bool is_column = s.n == 1 && s.b_stride_k == 1 && s.a_stride_k == 1;
    if (s.b_stride_n == 1 && !is_column) {
        int64_t row = 0;
        for (; row + rows_together <= s.m; row += rows_together)
            rows_of_sums<rows_together>(s, data, row, first, last);
        for (; row < s.m; ++row) rows_of_sums<1>(s, data, row, first, last);
        return;
    }
    for (int64_t row = 0; row < s.m; ++row) {
        int64_t n = first;
        for (; n + columns_together <= last; n += columns_together)
            dot_rows<columns_together, 1>(s, data, row, n);
        // A column has the same bits wherever threads part the columns; the first of many would be in a
        // group.
        const bool are_few = s.n < columns_together;
        for (; n < last; ++n)
            are_few ? dot_rows<1, columns_together>(s, data, row, n) : dot_rows<1, 1>(s, data, row, n);
    }
}

}  // namespace

using Multiply = void (*)(const SmallMatmul&, const SmallMatmulData&, int64_t, int64_t);
Multiply multiply_function() { return &multiply; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(multiply_function);

void small_matmul(const SmallMatmul& shape, const SmallMatmulData& data, int64_t first, int64_t last) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(multiply_function)());
    best(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
