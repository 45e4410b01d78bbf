// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/pool_kernels.simd.cpp"
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

// The reduction of a window.
struct Largest {
    static constexpr float start = -std::numeric_limits<float>::infinity();
    // NaN and a number give the number, as in the reference.
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

// The part [begin, end) of a window inside the image.
struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};
HWY_INLINE Range clipped(int64_t at, int64_t stride, int64_t padding, int64_t kernel, int64_t extent) {
    int64_t begin = at * stride - padding;
    return {std::max<int64_t>(begin, 0), std::min(begin + kernel, extent)};
}

// Factor of a total; 1 for maxima.
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

// Calls vector(i) for vectors that cover [0, n), the last one overlapping the one before, if there is one;
// returns the first element that is not covered.
template <class D, class Fn>
HWY_INLINE int64_t cover(D d, int64_t n, Fn&& vector) {
    const int64_t lanes = int64_t(hn::Lanes(d));
    if (n < lanes) return 0;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) vector(i);
    if (i < n) vector(n - lanes);
    return n;
}

// All of `inner`; false when it is shorter than a vector.
template <class R, class D>
HWY_INLINE bool reduce_across(D d, const PoolPlane& p, const float* x, float* y, Range rows, Range columns,
                              float factor) {
    return cover(d, p.inner, [&](int64_t i) HWY_ATTR {
               reduce_window<R>(d, p, x + i, y + i, rows, columns, factor);
           }) > 0;
}

// Windows [first, last) of a row that are inside the image and contain H × W pixels of one vector each, as
// blocks of channels do.
template <class R, int H, int W>
void reduce_blocks(const PoolPlane& p, const float* x, float* y, int64_t first, int64_t last) {
    const hn::ScalableTag<float> d;
    [[maybe_unused]] const auto factor = hn::Set(d, 1 / float(H * W));
    const int64_t row = p.w * p.inner, step = p.stride_w * p.inner;
    x += (first * p.stride_w - p.padding_w) * p.inner;
    y += first * p.inner;
    for (int64_t i = first; i < last; ++i, x += step, y += p.inner) {
        auto sum = hn::Set(d, R::start);
        for (int h = 0; h < H; ++h)
            for (int w = 0; w < W; ++w) sum = R::add(sum, hn::LoadU(d, x + h * row + w * p.inner));
        if constexpr (std::is_same_v<R, Total>) sum = hn::Mul(sum, factor);
        hn::StoreU(sum, d, y);
    }
}

// Functions with hot loops are aligned to 64 bytes: otherwise code added elsewhere in the library changes
// their speed.
template <class R>
[[gnu::aligned(64)]] void inner_row(const PoolPlane& p, const float* x, float* y, Range rows) {
    const hn::ScalableTag<float> full;
    const hn::CappedTag<float, 8> eight;
    const hn::CappedTag<float, 4> four;
    const hn::CappedTag<float, 1> single;
    const int64_t lanes = int64_t(hn::Lanes(full));
    const bool is_three = p.kernel_h == 3 && p.kernel_w == 3, is_two = p.kernel_h == 2 && p.kernel_w == 2;
    // Windows fully inside: all but the first and the last ones.
    Range whole{0, 0};
    if (p.inner == lanes && rows.size() == p.kernel_h && (is_two || is_three) &&
        p.w >= p.kernel_w - p.padding_w) {
        whole.begin = ceil_div(p.padding_w, p.stride_w);
        whole.end = std::min((p.w + p.padding_w - p.kernel_w) / p.stride_w + 1, p.out_w);
    }
    for (int64_t ox = 0; ox < p.out_w; ++ox) {
        if (ox == whole.begin && ox < whole.end) {
            const float* first_row = x + rows.begin * p.w * p.inner;
            auto reduce = is_two ? reduce_blocks<R, 2, 2> : reduce_blocks<R, 3, 3>;
            reduce(p, first_row, y, whole.begin, whole.end);
            ox = whole.end;
            if (ox == p.out_w) return;
        }
        Range columns = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
        float factor = factor_of<R>(p, rows, columns);
        float* to = y + ox * p.inner;
        auto reduce = [&](auto d) HWY_ATTR { return reduce_across<R>(d, p, x, to, rows, columns, factor); };
        if (!reduce(full) && !reduce(eight) && !reduce(four)) reduce(single);
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
    x += columns.begin;
    int64_t i = cover(d, columns.size(), [&](int64_t at) HWY_ATTR {
        auto sum = hn::Set(d, R::start);
        for (int64_t row = rows.begin; row < rows.end; ++row)
            sum = R::add(sum, hn::LoadU(d, x + row * p.w + at));
        hn::StoreU(sum, d, buffer + at);
    });
    for (; i < columns.size(); ++i) {
        float sum = R::start;
        for (int64_t row = rows.begin; row < rows.end; ++row) sum = R::add(sum, x[row * p.w + i]);
        buffer[i] = sum;
    }
}

// Reduces `n` windows of a row, `stride` apart, the first at the start of `x`. Reads up to a vector beyond
// the last one.
template <class R>
HWY_INLINE void reduce_windows(const float* x, int64_t n, int64_t kernel, int64_t stride, float* y) {
    const hn::ScalableTag<float> d;
    int64_t i = 0;
    if (stride == 1)
        i = cover(d, n, [&](int64_t at) HWY_ATTR {
            auto sum = hn::Set(d, R::start);
            for (int64_t k = 0; k < kernel; ++k) sum = R::add(sum, hn::LoadU(d, x + at + k));
            hn::StoreU(sum, d, y + at);
        });
    if (stride == 2)
        i = cover(d, n, [&](int64_t at) HWY_ATTR {
            auto sum = hn::Set(d, R::start);
            for (int64_t k = 0; k < kernel; k += 2) {
                hn::Vec<decltype(d)> even, odd;
                hn::LoadInterleaved2(d, x + 2 * at + k, even, odd);
                sum = R::add(sum, even);
                if (k + 1 < kernel) sum = R::add(sum, odd);
            }
            hn::StoreU(sum, d, y + at);
        });
    for (; i < n; ++i) {
        float sum = R::start;
        for (int64_t k = 0; k < kernel; ++k) sum = R::add(sum, x[i * stride + k]);
        y[i] = sum;
    }
}

// Multiplies the totals of windows [ox, ox + n) by their factors: windows inside the image share theirs.
template <class R>
HWY_INLINE void scale_totals(const PoolPlane& p, Range rows, int64_t ox, int64_t n, float* y) {
    auto columns = [&](int64_t i) { return clipped(ox + i, p.stride_w, p.padding_w, p.kernel_w, p.w); };
    int64_t begin = 0, end = n;
    for (; begin < end && columns(begin).size() < p.kernel_w; ++begin)
        y[begin] *= factor_of<R>(p, rows, columns(begin));
    for (; begin < end && columns(end - 1).size() < p.kernel_w; --end)
        y[end - 1] *= factor_of<R>(p, rows, columns(end - 1));
    if (begin == end) return;
    const float factor = factor_of<R>(p, rows, columns(begin));
    const hn::ScalableTag<float> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    for (; begin + lanes <= end; begin += lanes)
        hn::StoreU(hn::Mul(hn::LoadU(d, y + begin), hn::Set(d, factor)), d, y + begin);
    for (; begin < end; ++begin) y[begin] *= factor;
}

// Windows of two adjacent columns inside the image: directly from its rows. Returns the number of windows
// covered by vectors of this size.
template <class R, class D>
HWY_INLINE int64_t reduce_pairs(D d, const PoolPlane& p, const float* x, float* y, Range rows) {
    return cover(d, p.out_w, [&](int64_t at) HWY_ATTR {
        auto sum = hn::Set(d, R::start);
        for (int64_t row = rows.begin; row < rows.end; ++row) {
            hn::Vec<D> even, odd;
            hn::LoadInterleaved2(d, x + row * p.w + 2 * at, even, odd);
            sum = R::add(R::add(sum, even), odd);
        }
        if constexpr (std::is_same_v<R, Total>) sum = hn::Mul(sum, hn::Set(d, factor_of<R>(p, rows, {0, 2})));
        hn::StoreU(sum, d, y + at);
    });
}

// False for other windows, or fewer than the lanes of the smallest vector.
template <class R>
HWY_INLINE bool pairs_row(const PoolPlane& p, const float* x, float* y, Range rows) {
    if (p.kernel_w != 2 || p.stride_w != 2 || p.padding_w != 0) return false;
    return reduce_pairs<R>(hn::ScalableTag<float>(), p, x, y, rows) ||
           reduce_pairs<R>(hn::CappedTag<float, 8>(), p, x, y, rows) ||
           reduce_pairs<R>(hn::CappedTag<float, 4>(), p, x, y, rows);
}

// First along the columns, into a buffer with borders of `start`, then along the row: a value is read once
// for each window that contains its row.
template <class R>
[[gnu::aligned(64)]] void plain_row(const PoolPlane& p, const float* x, float* y, Range rows) {
    constexpr int64_t buffered = 1024, slack = 64;
    alignas(64) float buffer[buffered + slack];
    for (int64_t ox = 0; ox < p.out_w;) {
        if (p.kernel_w > buffered) {  // row by row
            Range span = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
            float sum = R::start;
            for (int64_t row = rows.begin; row < rows.end; ++row)
                sum = R::add(sum, reduce_contiguous<R>(x + row * p.w + span.begin, span.size()));
            y[ox++] = sum * factor_of<R>(p, rows, span);
            continue;
        }
        // As many windows as fit in the buffer.
        int64_t n = std::min(p.out_w - ox, (buffered - p.kernel_w) / p.stride_w + 1);
        int64_t begin = ox * p.stride_w - p.padding_w, end = begin + (n - 1) * p.stride_w + p.kernel_w;
        Range span{std::max<int64_t>(begin, 0), std::min(end, p.w)};
        std::fill(buffer, buffer + (span.begin - begin), R::start);
        reduce_rows<R>(p, x, rows, span, buffer + (span.begin - begin));
        std::fill(buffer + (span.end - begin), buffer + (end - begin), R::start);
        reduce_windows<R>(buffer, n, p.kernel_w, p.stride_w, y + ox);
        if constexpr (std::is_same_v<R, Total>) scale_totals<R>(p, rows, ox, n, y + ox);
        ox += n;
    }
}

template <class R>
[[gnu::aligned(64)]] void pool_row(const PoolPlane& p, const float* x, float* y, int64_t oy) {
    Range rows = clipped(oy, p.stride_h, p.padding_h, p.kernel_h, p.h);
    if (p.inner > 1) return inner_row<R>(p, x, y, rows);
    if (p.out_w == 1 && p.padding_w == 0 && p.kernel_w == p.w) {  // whole rows: contiguous memory
        float sum = reduce_contiguous<R>(x + rows.begin * p.w, rows.size() * p.w);
        *y = sum * factor_of<R>(p, rows, {0, p.w});
        return;
    }
    if (!pairs_row<R>(p, x, y, rows)) plain_row<R>(p, x, y, rows);
}

// Maxima of one vector across `inner`.
template <class D, class T>
HWY_INLINE void max_bytes(D d, const PoolPlane& p, const T* x, T* y, Range rows, Range columns) {
    auto most = hn::Set(d, std::numeric_limits<T>::lowest());
    for (int64_t row = rows.begin; row < rows.end; ++row)
        for (int64_t column = columns.begin; column < columns.end; ++column)
            most = hn::Max(most, hn::LoadU(d, x + (row * p.w + column) * p.inner));
    hn::StoreU(most, d, y);
}

template <class T>
[[gnu::aligned(64)]] void max_row_of_bytes(const PoolPlane& p, const T* x, T* y, int64_t oy) {
    const hn::ScalableTag<T> full;
    const hn::CappedTag<T, 16> sixteen;
    const Range rows = clipped(oy, p.stride_h, p.padding_h, p.kernel_h, p.h);
    for (int64_t ox = 0; ox < p.out_w; ++ox, y += p.inner) {
        const Range columns = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
        auto reduce = [&](auto d) HWY_ATTR {
            return cover(d, p.inner,
                         [&](int64_t i) HWY_ATTR { max_bytes(d, p, x + i, y + i, rows, columns); });
        };
        if (reduce(full) || reduce(sixteen)) continue;
        for (int64_t i = 0; i < p.inner; ++i) {
            T most = std::numeric_limits<T>::lowest();
            for (int64_t row = rows.begin; row < rows.end; ++row)
                for (int64_t column = columns.begin; column < columns.end; ++column)
                    most = std::max(most, x[(row * p.w + column) * p.inner + i]);
            y[i] = most;
        }
    }
}

// Halves as integers of the same order, or their bits again. NaN, which a maximum ignores, becomes -infinity.
template <class D>
HWY_INLINE hn::Vec<D> bits_of_order(D d, hn::Vec<D> order) {
    return hn::Xor(order, hn::And(hn::BroadcastSignBit(order), hn::Set(d, 0x7fff)));
}
template <class D>
HWY_INLINE hn::Vec<D> order_of_bits(D d, hn::Vec<D> bits, int16_t infinity) {
    const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7fff)), hn::Set(d, infinity));
    return hn::IfThenElse(is_nan, hn::Set(d, int16_t(~infinity)), bits_of_order(d, bits));
}

// The maximum of each column of the windows' rows, in order, and then of the columns.
[[gnu::aligned(64)]] void max_row_of_halves(const PoolPlane& p, const uint16_t* x, uint16_t* y, int64_t oy,
                                            int16_t infinity, int16_t* columns) {
    const hn::ScalableTag<int16_t> full;
    const hn::CappedTag<int16_t, 8> eight;
    const hn::CappedTag<int16_t, 1> one;
    const Range rows = clipped(oy, p.stride_h, p.padding_h, p.kernel_h, p.h);
    const int64_t row_size = p.w * p.inner;
    auto* bits = reinterpret_cast<const int16_t*>(x);
    auto reduce_rows = [&](auto d, int64_t i) HWY_ATTR {
        auto most = hn::Set(d, int16_t(~infinity));
        for (int64_t row = rows.begin; row < rows.end; ++row)
            most = hn::Max(most, order_of_bits(d, hn::LoadU(d, bits + row * row_size + i), infinity));
        hn::StoreU(most, d, columns + i);
    };
    int64_t i = cover(full, row_size, [&](int64_t at) HWY_ATTR { reduce_rows(full, at); });
    for (; i < row_size; ++i) reduce_rows(one, i);
    for (int64_t ox = 0; ox < p.out_w; ++ox, y += p.inner) {
        const Range window = clipped(ox, p.stride_w, p.padding_w, p.kernel_w, p.w);
        auto reduce_columns = [&](auto d, int64_t at) HWY_ATTR {
            auto most = hn::Set(d, int16_t(~infinity));
            for (int64_t column = window.begin; column < window.end; ++column)
                most = hn::Max(most, hn::LoadU(d, columns + column * p.inner + at));
            hn::StoreU(bits_of_order(d, most), d, reinterpret_cast<int16_t*>(y) + at);
        };
        if (cover(full, p.inner, [&](int64_t at) HWY_ATTR { reduce_columns(full, at); })) continue;
        if (cover(eight, p.inner, [&](int64_t at) HWY_ATTR { reduce_columns(eight, at); })) continue;
        for (int64_t at = 0; at < p.inner; ++at) reduce_columns(one, at);
    }
}

void lowest_to_infinity(float* y, int64_t n) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    constexpr float lowest = std::numeric_limits<float>::lowest();
    const auto bound = hn::Set(d, lowest), infinity = hn::Set(d, Largest::start);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        auto v = hn::LoadU(d, y + i);
        auto found = hn::Eq(v, bound);
        if (HWY_UNLIKELY(!hn::AllFalse(d, found))) hn::StoreU(hn::IfThenElse(found, infinity, v), d, y + i);
    }
    for (; i < n; ++i)
        if (y[i] == lowest) y[i] = Largest::start;
}

constexpr PoolKernels kernels{pool_row<Largest>,        pool_row<Total>,   max_row_of_bytes<uint8_t>,
                              max_row_of_bytes<int8_t>, max_row_of_halves, lowest_to_infinity};

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
