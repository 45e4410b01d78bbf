// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/pool_kernels.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/pool_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// How windows are reduced.
struct Largest {
    static constexpr float start = -std::numeric_limits<float>::infinity();
    // Of a NaN and a number the number, as in the reference.
    template <class V>
    static HWY_INLINE V add(V sum, V x) {
        return hn::Max(x, sum);
    }
    static HWY_INLINE float add(float sum, float x) { return x > sum ? x : sum; }
    template <class D>
    static HWY_INLINE float across(D d, hn::Vec<D> v) {
        return hn::GetLane(hn::MaxOfLanes(d, v));
    }
};
struct Total {
    static constexpr float start = 0;
    template <class V>
    static HWY_INLINE V add(V sum, V x) {
        return hn::Add(sum, x);
    }
    static HWY_INLINE float add(float sum, float x) { return sum + x; }
    template <class D>
    static HWY_INLINE float across(D d, hn::Vec<D> v) {
        return hn::GetLane(hn::SumOfLanes(d, v));
    }
};

// The part [begin, end) of a window that lies inside of the image.
struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};
HWY_INLINE Range clipped(int64_t at, int64_t stride, int64_t padding, int64_t kernel, int64_t extent) {
    int64_t begin = at * stride - padding;
    return {std::max<int64_t>(begin, 0), std::min(begin + kernel, extent)};
}

// What a total is multiplied with; 1 for maxima.
template <class R>
HWY_INLINE float factor_of(const PoolPlane& p, Range rows, Range columns) {
    if constexpr (std::is_same_v<R, Largest>) return 1;
    int64_t count = p.count_include_pad ? p.kernel_h * p.kernel_w : rows.size() * columns.size();
    return 1 / float(count);
}

// Vectors across `inner`, starting at its element i.
template <class R, class D>
HWY_INLINE void reduce_window(D d, const PoolPlane& p, const float* x, float* y, Range rows, Range columns,
                              float factor) {
    auto sum = hn::Set(d, R::start);
    for (int64_t row = rows.begin; row < rows.end; ++row)
        for (int64_t column = columns.begin; column < columns.end; ++column)
            sum = R::add(sum, hn::LoadU(d, x + (row * p.w + column) * p.inner));
    if constexpr (std::is_same_v<R, Total>) sum = hn::Mul(sum, hn::Set(d, factor));
    hn::StoreU(sum, d, y);
}

template <class R>
void inner_row(const PoolPlane& p, const float* x, float* y, Range rows) {
    const hn::ScalableTag<float> full;
    const hn::CappedTag<float, 1> single;
    const int64_t lanes = int64_t(hn::Lanes(full));
    for (int64_t ox = 0; ox < p.out_w; ++ox, y += p.inner) {
        Range columns = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
        float factor = factor_of<R>(p, rows, columns);
        int64_t i = 0;
        for (; i + lanes <= p.inner; i += lanes)
            reduce_window<R>(full, p, x + i, y + i, rows, columns, factor);
        for (; i < p.inner; ++i) reduce_window<R>(single, p, x + i, y + i, rows, columns, factor);
    }
}

template <class R>
HWY_INLINE float reduce_contiguous(const float* x, int64_t n) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    auto sum = hn::Set(d, R::start);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) sum = R::add(sum, hn::LoadU(d, x + i));
    float result = R::across(d, sum);
    for (; i < n; ++i) result = R::add(result, x[i]);
    return result;
}

// Columns of rows reduced into `buffer`, vector by vector.
template <class R>
HWY_INLINE void reduce_rows(const PoolPlane& p, const float* x, Range rows, Range columns, float* buffer) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= columns.size(); i += lanes) {
        auto sum = hn::Set(d, R::start);
        for (int64_t row = rows.begin; row < rows.end; ++row)
            sum = R::add(sum, hn::LoadU(d, x + row * p.w + columns.begin + i));
        hn::StoreU(sum, d, buffer + i);
    }
    for (; i < columns.size(); ++i) {
        float sum = R::start;
        for (int64_t row = rows.begin; row < rows.end; ++row)
            sum = R::add(sum, x[row * p.w + columns.begin + i]);
        buffer[i] = sum;
    }
}

// First down the columns, then along the row: a value is read once per window it lies in vertically.
template <class R>
void plain_row(const PoolPlane& p, const float* x, float* y, Range rows) {
    constexpr int64_t buffered = 1024;
    alignas(64) float buffer[buffered];
    for (int64_t ox = 0; ox < p.out_w;) {
        Range span = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
        if (span.size() > buffered) {  // a window wider than the buffer: row by row
            float sum = R::start;
            for (int64_t row = rows.begin; row < rows.end; ++row)
                sum = R::add(sum, reduce_contiguous<R>(x + row * p.w + span.begin, span.size()));
            y[ox++] = sum * factor_of<R>(p, rows, span);
            continue;
        }
        int64_t last = ox;  // as many windows as the buffer holds
        while (last + 1 < p.out_w &&
               clipped(last + 1, p.stride_w, p.padding_w, p.kernel_w, p.w).end - span.begin <= buffered)
            ++last;
        span.end = clipped(last, p.stride_w, p.padding_w, p.kernel_w, p.w).end;
        reduce_rows<R>(p, x, rows, span, buffer);
        for (; ox <= last; ++ox) {
            Range columns = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
            float sum = R::start;
            for (int64_t i = columns.begin; i < columns.end; ++i) sum = R::add(sum, buffer[i - span.begin]);
            y[ox] = sum * factor_of<R>(p, rows, columns);
        }
    }
}

template <class R>
void pool_row(const PoolPlane& p, const float* x, float* y, int64_t oy) {
    Range rows = clipped(oy, p.stride_h, p.padding_h, p.kernel_h, p.h);
    if (p.inner > 1) return inner_row<R>(p, x, y, rows);
    if (p.out_w == 1 && p.padding_w == 0 && p.kernel_w == p.w) {  // whole rows: one run of memory
        float sum = reduce_contiguous<R>(x + rows.begin * p.w, rows.size() * p.w);
        *y = sum * factor_of<R>(p, rows, {0, p.w});
        return;
    }
    plain_row<R>(p, x, y, rows);
}

constexpr PoolKernels kernels{pool_row<Largest>, pool_row<Total>};

}  // namespace

const PoolKernels* pool_kernels_of_target() { return &kernels; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(pool_kernels_of_target);

const PoolKernels& pool_kernels() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(pool_kernels_of_target)();
}

}  // namespace mge::cpu
#endif
