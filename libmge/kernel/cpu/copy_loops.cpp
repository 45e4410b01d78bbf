// SPDX-License-Identifier: Apache-2.0
// The work is divided into units. For runs, fills and strided rows a unit is a piece of the innermost axis;
// for tiles it is a band of rows of the two transposed axes, as wide as a cache line of the source. The outer
// axes are counted by an Odometer, which a thread sets to the first of its units.
#include "libmge/kernel/cpu/copy_loops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

// A tile of 16 × 16 elements of 4 bytes: 16 whole cache lines on each side.
constexpr int64_t tile = 16;
constexpr int64_t line_bytes = 64;
// Elements of the innermost axis that one unit takes; long enough to hide the cost of the odometer.
constexpr int64_t piece = 16384;

template <class AxisArray>
struct Odometer {
    const AxisArray& axes;
    int rank;
    std::array<int64_t, max_rank> at{};
    int64_t source = 0, target = 0;

    Odometer(const AxisArray& a, int n, int64_t position) : axes(a), rank(n) {
        for (int i = rank - 1; i >= 0; --i) {
            at[i] = position % axes[i].extent;
            position /= axes[i].extent;
            source += at[i] * axes[i].source;
            target += at[i] * axes[i].target;
        }
    }
    void next() {
        for (int i = rank - 1; i >= 0; --i) {
            source += axes[i].source;
            target += axes[i].target;
            if (++at[i] < axes[i].extent) return;
            source -= at[i] * axes[i].source;
            target -= at[i] * axes[i].target;
            at[i] = 0;
        }
    }
};

// A square whose rows are vectors of 16 bytes: rounds of riffling the first half of the rows with the second
// half. Compilers make one instruction of a shuffle.
template <class T, size_t... lane>
void swap_square(const T* source, int64_t source_row, T* target, int64_t target_row,
                 std::index_sequence<lane...>) {
    using Row __attribute__((vector_size(16))) = T;
    constexpr int64_t side = sizeof...(lane);
    Row rows[side], next[side];
#pragma GCC unroll 16
    for (int64_t j = 0; j < side; ++j) std::memcpy(&rows[j], source + j * source_row, sizeof rows[j]);
#pragma GCC unroll 4
    for (int64_t round = 1; round < side; round *= 2) {
#pragma GCC unroll 8
        for (int64_t r = 0; r < side / 2; ++r) {
            Row a = rows[r], b = rows[r + side / 2];
            next[2 * r] = __builtin_shufflevector(a, b, (lane / 2 + lane % 2 * side)...);
            next[2 * r + 1] = __builtin_shufflevector(a, b, (side / 2 + lane / 2 + lane % 2 * side)...);
        }
#pragma GCC unroll 16
        for (int64_t r = 0; r < side; ++r) rows[r] = next[r];
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < side; ++i) std::memcpy(target + i * target_row, &rows[i], sizeof rows[i]);
}

// target[i * target_row + j] = source[j * source_row + i] for a tile.
template <class T>
void swap_tile(const T* source, int64_t source_row, T* target, int64_t target_row, int64_t rows,
               int64_t columns) {
    constexpr int64_t side = 16 / sizeof(T);
    if (rows == tile && columns == tile) {
        for (int64_t i = 0; i < tile; i += side)
            for (int64_t j = 0; j < tile; j += side)
                swap_square(source + j * source_row + i, source_row, target + i * target_row + j, target_row,
                            std::make_index_sequence<size_t(side)>{});
        return;
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) target[i * target_row + j] = source[j * source_row + i];
}

// Compilers make shuffles of a step that they know.
template <class T>
void copy_strided(const T* source, int64_t source_step, T* target, int64_t target_step, int64_t n) {
    auto copy = [&]<int64_t step>(std::integral_constant<int64_t, step>) {
        for (int64_t i = 0; i < n; ++i) target[i] = source[i * step];
    };
    switch (target_step == 1 ? source_step : 0) {
        case -1:
            return copy(std::integral_constant<int64_t, -1>{});
        case 2:
            return copy(std::integral_constant<int64_t, 2>{});
        case 3:
            return copy(std::integral_constant<int64_t, 3>{});
        case 4:
            return copy(std::integral_constant<int64_t, 4>{});
        default:
            for (int64_t i = 0; i < n; ++i) target[i * target_step] = source[i * source_step];
    }
}

}  // namespace

CopyLoops::CopyLoops(const StridedCopy& copy) : copy_(copy), rank_(int(copy.axes().size())) {
    std::copy(copy.axes().begin(), copy.axes().end(), axes_.begin());
    if (rank_ > 0) choose_method();
}

// A loop over two or three elements costs more than its copy: then the nearest long axis becomes the
// innermost.
void CopyLoops::prefer_long_axis() {
    auto inner = axes_.begin() + rank_ - 1, longer = inner;
    while (longer != axes_.begin() && longer->extent < 16) --longer;
    if (inner->extent < 8 && longer->extent >= 16) std::rotate(longer, longer + 1, inner + 1);
}

void CopyLoops::choose_method() {
    prefer_long_axis();
    Axis& inner = axes_[size_t(rank_ - 1)];
    if (inner.target == 1 && inner.source == 1)
        method_ = Method::runs;
    else if (inner.target == 1 && inner.source == 0)
        method_ = Method::fill;
    else
        method_ = Method::strided;
    if (inner.target != 1 || inner.source == 1 || inner.source == 0 || inner.extent < 4) return;
    for (int i = 0; i < rank_ - 1; ++i) {
        if (axes_[size_t(i)].source != 1 || axes_[size_t(i)].extent < 4) continue;
        // The two axes of the tiles are last: first the source's innermost, then the target's.
        std::rotate(axes_.begin() + i, axes_.begin() + i + 1, axes_.begin() + rank_ - 1);
        method_ = Method::tiles;
        return;
    }
}

template <class T>
void CopyLoops::run_as(const T* source, T* target, int threads) const {
    source += copy_.source_offset();
    target += copy_.target_offset();
    bool tiles = method_ == Method::tiles;
    int outer_rank = tiles ? rank_ - 2 : rank_ - 1;
    int64_t outer = 1;
    for (int i = 0; i < outer_rank; ++i) outer *= axes_[size_t(i)].extent;
    Axis inner = axes_[size_t(rank_ - 1)], rows = tiles ? axes_[size_t(rank_ - 2)] : Axis{};
    int64_t divided = tiles ? rows.extent : inner.extent;
    int64_t part = tiles ? std::max<int64_t>(tile, line_bytes / sizeof(T)) : piece;
    int64_t parts = ceil_div(divided, part);
    int64_t unit_cost = std::min(divided, part) * (tiles ? inner.extent : 1);

    auto run_units = [&](int64_t begin, int64_t end) {
        Odometer odometer(axes_, outer_rank, begin / parts);
        for (int64_t unit = begin, p = begin % parts; unit < end; ++unit) {
            int64_t first = p * part, n = std::min(part, divided - first);
            if (tiles) {
                const T* s = source + odometer.source + first;
                T* t = target + odometer.target + first * rows.target;
                for (int64_t j = 0; j < inner.extent; j += tile)
                    for (int64_t i = 0; i < n; i += tile)
                        swap_tile(s + j * inner.source + i, inner.source, t + i * rows.target + j,
                                  rows.target, std::min(tile, n - i), std::min(tile, inner.extent - j));
            } else {
                const T* s = source + odometer.source + first * inner.source;
                T* t = target + odometer.target + first * inner.target;
                if (method_ == Method::runs)
                    std::memcpy(t, s, size_t(n) * sizeof(T));
                else if (method_ == Method::fill)
                    std::fill(t, t + n, *s);
                else
                    copy_strided(s, inner.source, t, inner.target, n);
            }
            if (++p == parts) {
                p = 0;
                odometer.next();
            }
        }
    };
    par_for(threads, outer * parts, std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, unit_cost)),
            run_units);
}

namespace {

template <class Fn>
void with_element_type(size_t size, Fn&& fn) {
    switch (size) {
        case 1:
            return fn(uint8_t{});
        case 2:
            return fn(uint16_t{});
        case 4:
            return fn(uint32_t{});
        case 8:
            return fn(uint64_t{});
        default:
            MGE_CHECK(false, "elements of ", size, " bytes");
    }
}

}  // namespace

void CopyLoops::run(const void* source, void* target, int threads) const {
    if (method_ == Method::nothing) return;
    with_element_type(copy_.element_size(), [&](auto zero) {
        using T = decltype(zero);
        run_as(static_cast<const T*>(source), static_cast<T*>(target), threads);
    });
}

void CopyLoops::run_naive(const void* source, void* target) const {
    const Shape& shape = copy_.shape();
    size_t size = copy_.element_size();
    for (int64_t n = 0, count = shape.numel(); n < count; ++n) {
        int64_t from = copy_.source().offset, to = copy_.target().offset, rest = n;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            int64_t at = rest % shape[i];
            rest /= shape[i];
            from += at * copy_.source().strides[size_t(i)];
            to += at * copy_.target().strides[size_t(i)];
        }
        std::memcpy(static_cast<char*>(target) + to * int64_t(size),
                    static_cast<const char*>(source) + from * int64_t(size), size);
    }
}

}  // namespace mge::cpu
