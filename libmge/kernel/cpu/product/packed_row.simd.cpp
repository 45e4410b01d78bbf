// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/packed_row.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/ordered_products-inl.h"
#include "libmge/kernel/cpu/product/packed_row.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t floats_in_line = 16;
// Number of concurrent sums: enough to hide the latency of a fused multiply-add, few enough for 16 registers,
// or on Arm for 32.
constexpr int64_t most_sums = HWY_TARGET == HWY_NEON ? 16 : 8;
// Rows of a panel are fetched so far ahead: the matrix comes from the second cache or from beyond it.
constexpr int64_t fetched_ahead = 8;

HWY_INLINE void fetch(const float* from, int64_t lines) {
    for (int64_t line = 0; line < lines; ++line) hwy::Prefetch(from + line * floats_in_line);
}

// Initial values and target of a panel's sums; `next` is the panel that is read after it.
struct Panel {
    const float *x, *b, *next, *bias, *residual;
    float* y;
};

#if HWY_TARGET == HWY_NEON
// Adds the next row of a panel, times number I.
template <int I, class Vector, int V>
HWY_INLINE void add_row(const Vector (&numbers)[1], const float*& b, Vector (&sums)[1][V]) {
#pragma GCC unroll 4
    for (int v = 0; v < V; v += 4) {
        Vector row[4];
        load_vectors(b, row);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sums[0][v + i] = add_lane_product<I>(numbers[0], row[i], sums[0][v + i]);
    }
}
template <class Vector, int V>
HWY_INLINE void add_four(const float* x, const float*& b, Vector (&sums)[1][V]) {
    const Vector numbers[1] = {hn::LoadU(hn::ScalableTag<float>(), x)};
    add_row<0>(numbers, b, sums);
    add_row<1>(numbers, b, sums);
    add_row<2>(numbers, b, sums);
    add_row<3>(numbers, b, sums);
}
// Adds the rows that come in fours, and returns how many there are. A panel is one stream, which processors
// detect, so nothing is prefetched: two prefetches for each row took a tenth of the instructions.
template <class Vector, int V>
HWY_INLINE int64_t add_fours(const float* x, const float* b, int64_t k, Vector (&all)[1][V]) {
    Vector sums[1][V];  // in registers
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sums[0][v] = all[0][v];
    int64_t i = 0;
    for (; i + 8 <= k; i += 8) {
        add_four(x + i, b, sums);
        add_four(x + i + 4, b, sums);
    }
    if (i + 4 <= k) add_four(x + std::exchange(i, i + 4), b, sums);
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) all[0][v] = sums[0][v];
    return i;
}
#else
template <class Sums>
HWY_INLINE int64_t add_fours(const float*, const float*, int64_t, Sums&) {
    return 0;
}
#endif

// V vectors of R rows of a panel at a time, each with separate sums. Rows of a panel are read whole if the
// registers allow it: two passes over halves have two thirds of the speed from beyond a cache.
template <class D, int V, int R>
HWY_INLINE void sum_columns(D d, int64_t k, const Panel& p) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    constexpr int64_t lines = V * int64_t(hn::MaxLanes(d)) / floats_in_line;
    hn::Vec<D> sums[R][V];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) sums[r][v] = hn::Zero(d);
    int64_t i = add_fours(p.x, p.b, k, sums);
    const float* b = p.b + i * panel_columns;
    auto sum_rows = [&](int64_t end, const float* fetched) HWY_ATTR {
        for (; i + R <= end; i += R, b += R * panel_columns, fetched += R * panel_columns)
            for (int r = 0; r < R; ++r) {
                fetch(fetched + r * panel_columns, lines);
                auto number = hn::Set(d, p.x[i + r]);
                for (int v = 0; v < V; ++v)
                    sums[r][v] =
                        hn::MulAdd(number, hn::LoadU(d, b + r * panel_columns + v * lanes), sums[r][v]);
            }
    };
    sum_rows(k - fetched_ahead, b + fetched_ahead * panel_columns);
    sum_rows(k, p.next);
    for (; i < k; ++i, b += panel_columns)
        for (int v = 0; v < V; ++v)
            sums[0][v] = hn::MulAdd(hn::Set(d, p.x[i]), hn::LoadU(d, b + v * lanes), sums[0][v]);
    for (int v = 0; v < V; ++v) {
        for (int r = 1; r < R; ++r) sums[0][v] = hn::Add(sums[0][v], sums[r][v]);
        if (p.bias) sums[0][v] = hn::Add(sums[0][v], hn::LoadU(d, p.bias + v * lanes));
        if (p.residual) sums[0][v] = hn::Add(sums[0][v], hn::LoadU(d, p.residual + v * lanes));
        hn::StoreU(sums[0][v], d, p.y + v * lanes);
    }
}

void sum_panel(int64_t k, const Panel& p) {
    const hn::ScalableTag<float> d;
    constexpr int64_t vectors = panel_columns / int64_t(hn::MaxLanes(d)),
                      lines = panel_columns / floats_in_line;
    constexpr int together = int(std::min(vectors, most_sums)), rows = int(most_sums / together);
    // Read when the sums are there, so they come meanwhile.
    if (p.bias) fetch(p.bias, lines);
    if (p.residual) fetch(p.residual, lines);
    for (int64_t at = 0; at < panel_columns; at += together * int64_t(hn::MaxLanes(d)))
        sum_columns<decltype(d), together, rows>(d, k,
                                                 {p.x, p.b + at, p.next + at, p.bias ? p.bias + at : nullptr,
                                                  p.residual ? p.residual + at : nullptr, p.y + at});
}

// The last panel may have fewer columns than a panel has.
void sum_columns_of_last(const PackedRow& s, Panel p, int64_t n) {
    HWY_ALIGN float sums[panel_columns];
    const float *bias = std::exchange(p.bias, nullptr), *residual = std::exchange(p.residual, nullptr);
    float* y = std::exchange(p.y, sums);
    sum_panel(s.k, p);
    for (int64_t i = 0; bias && i < n; ++i) sums[i] += bias[i];
    for (int64_t i = 0; residual && i < n; ++i) sums[i] += residual[i];
    std::copy_n(sums, n, y);
}

void multiply(const PackedRow& s, const PackedRowData& data, int64_t first, int64_t last) {
    // The direction alternates between calls: if a matrix is reused, as in a recurrent net, and exceeds a
    // cache, the panels from the end of the last call are still there.
    thread_local bool is_backwards = false;
    is_backwards = !is_backwards;
    for (int64_t i = first; i < last; ++i) {
        const int64_t panel = is_backwards ? first + last - 1 - i : i,
                      next = is_backwards ? panel - 1 : panel + 1;
        const float* b = data.b + panel * s.panel;
        const int64_t begin = panel * panel_columns, n = std::min(panel_columns, s.n - begin);
        const Panel p{data.x,
                      b,
                      first <= next && next < last ? data.b + next * s.panel : b,
                      data.bias ? data.bias + begin : nullptr,
                      data.residual ? data.residual + begin : nullptr,
                      data.y + begin};
        if (n == panel_columns)
            sum_panel(s.k, p);
        else
            sum_columns_of_last(s, p, n);
    }
}

}  // namespace

using MultiplyRow = void (*)(const PackedRow&, const PackedRowData&, int64_t, int64_t);
MultiplyRow packed_row_function() { return &multiply; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(packed_row_function);

void packed_row(const PackedRow& shape, const PackedRowData& data, int64_t first, int64_t last) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(packed_row_function)());
    best(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
