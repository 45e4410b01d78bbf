// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/packed_row.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/packed_row.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t floats_in_line = 16;
// Sums that are kept at once: enough to hide the latency of a fused multiply-add, few enough for 16
// registers.
constexpr int64_t most_sums = 8;
// Rows of a panel are fetched so far ahead: the matrix comes from the second cache or from beyond it.
constexpr int64_t fetched_ahead = 8;

// V vectors of R rows of a panel at a time, each with sums of its own. Rows of a panel are read whole where
// the registers allow that: half of each, twice, comes at two thirds of the speed from beyond a cache.
template <class D, int V, int R>
HWY_INLINE void sum_columns(D d, int64_t k, const float* x, const float* b, float* y) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    constexpr int64_t lines = V * int64_t(hn::MaxLanes(d)) / floats_in_line;
    hn::Vec<D> sums[R][V];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) sums[r][v] = hn::Zero(d);
    int64_t i = 0;
    for (; i + R <= k; i += R, b += R * panel_columns)
        for (int r = 0; r < R; ++r) {
            const float* row = b + r * panel_columns;
            for (int64_t line = 0; line < lines; ++line)
                hwy::Prefetch(row + fetched_ahead * panel_columns + line * floats_in_line);
            auto number = hn::Set(d, x[i + r]);
            for (int v = 0; v < V; ++v)
                sums[r][v] = hn::MulAdd(number, hn::LoadU(d, row + v * lanes), sums[r][v]);
        }
    for (; i < k; ++i, b += panel_columns)
        for (int v = 0; v < V; ++v)
            sums[0][v] = hn::MulAdd(hn::Set(d, x[i]), hn::LoadU(d, b + v * lanes), sums[0][v]);
    for (int v = 0; v < V; ++v) {
        for (int r = 1; r < R; ++r) sums[0][v] = hn::Add(sums[0][v], sums[r][v]);
        hn::Store(sums[0][v], d, y + v * lanes);
    }
}

void sum_panel(int64_t k, const float* x, const float* b, float* y) {
    const hn::ScalableTag<float> d;
    constexpr int64_t vectors = panel_columns / int64_t(hn::MaxLanes(d));
    constexpr int together = int(std::min(vectors, most_sums)), rows = int(most_sums / together);
    for (int64_t at = 0; at < panel_columns; at += together * int64_t(hn::MaxLanes(d)))
        sum_columns<decltype(d), together, rows>(d, k, x, b + at, y + at);
}

void multiply(const PackedRow& s, const PackedRowData& data, int64_t first, int64_t last) {
    HWY_ALIGN float sums[panel_columns];
    // Each call goes the other way: of a matrix that is used again and again, as that of a recurrent net, and
    // is larger than a cache, the panels of the last call's end are still there.
    thread_local bool is_backwards = false;
    is_backwards = !is_backwards;
    for (int64_t i = first; i < last; ++i) {
        const int64_t panel = is_backwards ? first + last - 1 - i : i;
        sum_panel(s.k, data.x, data.b + panel * s.panel, sums);
        const int64_t begin = panel * panel_columns, n = std::min(panel_columns, s.n - begin);
        if (data.bias)
            for (int64_t i = 0; i < n; ++i) sums[i] += data.bias[begin + i];
        if (data.residual)
            for (int64_t i = 0; i < n; ++i) sums[i] += data.residual[begin + i];
        std::copy_n(sums, n, data.y + begin);
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
    static const auto best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(packed_row_function)();
    }();
    best(shape, data, first, last);
}

}  // namespace mge::cpu
#endif
