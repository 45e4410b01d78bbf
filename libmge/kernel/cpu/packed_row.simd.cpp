// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/packed_row.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/packed_row.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Sums that are kept at once: enough to hide the latency of a fused multiply-add, few enough for 16
// registers.
constexpr int64_t most_sums = 8;

// Some columns of a panel. Two rows of it at a time, each with sums of its own.
template <class D, int V>
HWY_INLINE void sum_columns(D d, int64_t k, const float* x, const float* b, float* y) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<D> even[V], odd[V];
    for (int v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(d);
    int64_t i = 0;
    for (; i + 2 <= k; i += 2, b += 2 * panel_columns) {
        auto first = hn::Set(d, x[i]), second = hn::Set(d, x[i + 1]);
        for (int v = 0; v < V; ++v) even[v] = hn::MulAdd(first, hn::LoadU(d, b + v * lanes), even[v]);
        for (int v = 0; v < V; ++v)
            odd[v] = hn::MulAdd(second, hn::LoadU(d, b + panel_columns + v * lanes), odd[v]);
    }
    if (i < k)
        for (int v = 0; v < V; ++v)
            even[v] = hn::MulAdd(hn::Set(d, x[i]), hn::LoadU(d, b + v * lanes), even[v]);
    for (int v = 0; v < V; ++v) hn::Store(hn::Add(even[v], odd[v]), d, y + v * lanes);
}

void sum_panel(int64_t k, const float* x, const float* b, float* y) {
    const hn::ScalableTag<float> d;
    constexpr int64_t vectors = panel_columns / int64_t(hn::MaxLanes(d));
    constexpr int together = int(std::min(vectors, most_sums / 2));
    for (int64_t at = 0; at < panel_columns; at += together * int64_t(hn::MaxLanes(d)))
        sum_columns<decltype(d), together>(d, k, x, b + at, y + at);
}

void multiply(const PackedRow& s, const PackedRowData& data, int64_t first, int64_t last) {
    HWY_ALIGN float sums[panel_columns];
    for (int64_t panel = first; panel < last; ++panel) {
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
