// SPDX-License-Identifier: Apache-2.0
// In overlapping windows an element gets several gradients, from the first window to the last. Planes with an
// inner axis (channels) are vectorised along it, window by window; so are plain ones along wide windows.
// Otherwise plain ones are vectorised along rows: results and their gradients are spread to the distances of
// their windows, so that for column k of all windows element and result are aligned, for any stride.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/pool_backward.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/pool_kernels.h"
#include "libmge/kernel/cpu/highway_targets.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;

// Calls fn(tag, i) for vectors that cover [0, n) once, shorter ones at the end.
template <class Fn>
HWY_INLINE void by_vectors(int64_t n, Fn&& fn) {
    const auto lanes = int64_t(hn::Lanes(F32()));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) fn(F32(), i);
    for (; i + 8 <= n; i += 8) fn(hn::CappedTag<float, 8>(), i);
    for (; i + 4 <= n; i += 4) fn(hn::CappedTag<float, 4>(), i);
    for (; i < n; ++i) fn(hn::CappedTag<float, 1>(), i);
}

// The part of a window's gradient that an element gets.
struct ToLargest {
    static constexpr bool reads_x = true;
    // Equal to no element: between the windows there is no result.
    static constexpr float nothing = std::numeric_limits<float>::quiet_NaN();
    template <class D>
    static HWY_INLINE hn::Vec<D> part(D d, const float* x, hn::Vec<D> y, hn::Vec<D> dy) {
        return hn::IfThenElseZero(hn::Eq(hn::LoadU(d, x), y), dy);
    }
};
struct ToAll {
    static constexpr bool reads_x = false;
    template <class D>
    static HWY_INLINE hn::Vec<D> part(D, const float*, hn::Vec<D>, hn::Vec<D> dy) {
        return dy;
    }
};

struct Planes {
    const float *x, *y, *dy;  // x and y only where largest elements are looked for
    float* dx;
};

struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};
HWY_INLINE Range window_of(int64_t at, int64_t stride, int64_t padding, int64_t kernel, int64_t extent) {
    int64_t begin = at * stride - padding;
    return {std::max<int64_t>(begin, 0), std::min(begin + kernel, extent)};
}
HWY_INLINE Range rows_of(const PoolPlane& p, int64_t oy) {
    return window_of(oy, p.stride_h, p.padding_h, p.kernel_h, p.h);
}
HWY_INLINE Range columns_of(const PoolPlane& p, int64_t ox) {
    return window_of(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
}

// Divisor of a window's gradient; 1 for maxima.
template <class To>
HWY_INLINE float divisor(const PoolPlane& p, Range rows, Range columns) {
    if (To::reads_x) return 1;
    return float(p.count_include_pad ? p.kernel_h * p.kernel_w : rows.size() * columns.size());
}

template <class To>
HWY_INLINE float gradient_of(const PoolPlane& p, const Planes& planes, Range rows, Range columns,
                             int64_t place) {
    return planes.dy[place] / divisor<To>(p, rows, columns);
}

template <class To>
HWY_INLINE const float* x_at(const Planes& planes, int64_t at) {
    return To::reads_x ? planes.x + at : nullptr;
}

// dx += the part of x.
template <class To, class D>
HWY_INLINE void add(D d, const Planes& planes, int64_t at, hn::Vec<D> y, hn::Vec<D> dy) {
    auto part = To::part(d, x_at<To>(planes, at), y, dy);
    hn::StoreU(hn::Add(hn::LoadU(d, planes.dx + at), part), d, planes.dx + at);
}

// --- window by window ---

template <class To, class D>
HWY_INLINE void add_inner(D d, const PoolPlane& p, const Planes& planes, int64_t place, int64_t i, Range rows,
                          Range columns) {
    auto y = To::reads_x ? hn::LoadU(d, planes.y + place * p.inner + i) : hn::Zero(d);
    auto dy = hn::LoadU(d, planes.dy + place * p.inner + i);
    if constexpr (!To::reads_x) dy = hn::Div(dy, hn::Set(d, divisor<To>(p, rows, columns)));
    for (int64_t row = rows.begin; row < rows.end; ++row)
        for (int64_t column = columns.begin; column < columns.end; ++column)
            add<To>(d, planes, (row * p.w + column) * p.inner + i, y, dy);
}

template <class To>
HWY_INLINE void add_wide(const PoolPlane& p, const Planes& planes, int64_t place, Range rows, Range columns) {
    float y = To::reads_x ? planes.y[place] : 0, dy = gradient_of<To>(p, planes, rows, columns, place);
    auto add_run = [&](int64_t begin, int64_t n) HWY_ATTR {
        by_vectors(n, [&](auto d, int64_t i)
                          HWY_ATTR { add<To>(d, planes, begin + i, hn::Set(d, y), hn::Set(d, dy)); });
    };
    if (columns.size() == p.w) return add_run(rows.begin * p.w, rows.size() * p.w);
    for (int64_t row = rows.begin; row < rows.end; ++row) add_run(row * p.w + columns.begin, columns.size());
}

template <class To>
void add_windows(const PoolPlane& p, const Planes& planes) {
    for (int64_t oy = 0; oy < p.out_h; ++oy)
        for (int64_t ox = 0; ox < p.out_w; ++ox) {
            Range rows = rows_of(p, oy), columns = columns_of(p, ox);
            int64_t place = oy * p.out_w + ox;
            if (p.inner == 1)
                add_wide<To>(p, planes, place, rows, columns);
            else
                by_vectors(p.inner, [&](auto d, int64_t i)
                                        HWY_ATTR { add_inner<To>(d, p, planes, place, i, rows, columns); });
        }
}

// --- pairs of columns: the most common windows ---

bool has_pairs(const PoolPlane& p) { return p.kernel_w == 2 && p.stride_w == 2 && p.padding_w == 0; }

template <class To>
void add_pairs(const PoolPlane& p, const Planes& planes) {
    for (int64_t oy = 0; oy < p.out_h; ++oy) {
        Range rows = rows_of(p, oy);
        by_vectors(p.out_w, [&](auto d, int64_t ox) HWY_ATTR {
            int64_t place = oy * p.out_w + ox;
            auto y = To::reads_x ? hn::LoadU(d, planes.y + place) : hn::Zero(d);
            auto dy = hn::LoadU(d, planes.dy + place);
            if constexpr (!To::reads_x) dy = hn::Div(dy, hn::Set(d, divisor<To>(p, rows, columns_of(p, ox))));
            for (int64_t row = rows.begin; row < rows.end; ++row) {
                int64_t at = row * p.w + 2 * ox;
                hn::Vec<decltype(d)> left = dy, right = dy, dx_left, dx_right;
                if constexpr (To::reads_x) {
                    hn::LoadInterleaved2(d, planes.x + at, left, right);
                    left = hn::IfThenElseZero(hn::Eq(left, y), dy);
                    right = hn::IfThenElseZero(hn::Eq(right, y), dy);
                }
                hn::LoadInterleaved2(d, planes.dx + at, dx_left, dx_right);
                hn::StoreInterleaved2(hn::Add(dx_left, left), hn::Add(dx_right, right), d, planes.dx + at);
            }
        });
    }
}

// --- rows ---

// Wider windows are processed one by one; a buffer stays in the L1 cache.
constexpr int64_t widest_spread = 16, most_columns = 512;

// The results over columns [columns.begin, columns.end) of a row of x. Column c is column k of the window
// that starts at c - k: y and dy of that window are at c - k - first.
struct Spread {
    int64_t first;
    alignas(64) float y[most_columns + widest_spread], dy[most_columns + widest_spread];
};

template <class To>
void spread(const PoolPlane& p, const Planes& planes, int64_t oy, Range columns, Spread& to) {
    to.first = columns.begin - p.kernel_w + 1;
    int64_t size = columns.end - to.first;
    if constexpr (To::reads_x) std::fill(to.y, to.y + size, To::nothing);
    std::fill(to.dy, to.dy + size, 0.0F);
    // From the first window that begins at or after `first`.
    int64_t ahead = to.first + p.padding_w;
    int64_t ox = ahead <= 0 ? 0 : ceil_div(ahead, p.stride_w);
    Range rows = rows_of(p, oy);
    for (; ox < p.out_w; ++ox) {
        int64_t at = ox * p.stride_w - ahead, place = oy * p.out_w + ox;
        if (at >= size) break;
        if constexpr (To::reads_x) to.y[at] = planes.y[place];
        to.dy[at] = gradient_of<To>(p, planes, rows, columns_of(p, ox), place);
    }
}

template <class To>
void add_rows(const PoolPlane& p, const Planes& planes) {
    Spread from;
    for (int64_t oy = 0; oy < p.out_h; ++oy)
        for (int64_t begin = 0; begin < p.w; begin += most_columns) {
            Range columns{begin, std::min(begin + most_columns, p.w)}, rows = rows_of(p, oy);
            spread<To>(p, planes, oy, columns, from);
            for (int64_t row = rows.begin; row < rows.end; ++row)
                by_vectors(columns.size(), [&](auto d, int64_t i) HWY_ATTR {
                    int64_t at = row * p.w + begin + i;
                    auto sum = hn::LoadU(d, planes.dx + at);
                    for (int64_t k = p.kernel_w; k-- > 0;) {
                        int64_t result = begin + i - k - from.first;
                        auto y = To::reads_x ? hn::LoadU(d, from.y + result) : hn::Zero(d);
                        auto dy = hn::LoadU(d, from.dy + result);
                        sum = hn::Add(sum, To::part(d, x_at<To>(planes, at), y, dy));
                    }
                    hn::StoreU(sum, d, planes.dx + at);
                });
        }
}

template <class To>
[[gnu::aligned(64)]] void backward(const PoolPlane& p, const Planes& planes) {
    std::fill(planes.dx, planes.dx + p.h * p.w * p.inner, 0.0F);
    if (p.inner == 1 && has_pairs(p)) return add_pairs<To>(p, planes);
    if (p.inner > 1 || p.kernel_w > widest_spread || p.out_w == 1) return add_windows<To>(p, planes);
    add_rows<To>(p, planes);
}

void max_backward(const PoolPlane& p, const float* x, const float* y, const float* dy, float* dx) {
    backward<ToLargest>(p, {x, y, dy, dx});
}
void average_backward(const PoolPlane& p, const float* dy, float* dx) {
    backward<ToAll>(p, {nullptr, nullptr, dy, dx});
}

constexpr PoolBackward kernels{max_backward, average_backward};

}  // namespace

const PoolBackward* pool_backward_of_target() { return &kernels; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(pool_backward_of_target);

const PoolBackward& pool_backward() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(pool_backward_of_target)();
}

}  // namespace mge::cpu
#endif
