// SPDX-License-Identifier: Apache-2.0
// The work is divided into units. For runs, fills and strided rows a unit is a piece of the innermost axis;
// for tiles it is a band of rows of the two transposed axes. The outer axes are counted by an Odometer, which
// a thread sets to the first of its units.
#include "libmge/kernel/cpu/copy_loops.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

// A tile of 16 × 16 elements of 4 bytes: 16 whole cache lines on each side.
constexpr int64_t tile = 16;
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

// Four words of 32 bits; compilers make shuffles of one instruction from this (GCC's vector extension).
using Words __attribute__((vector_size(16))) = uint32_t;

Words load_words(const uint32_t* from) {
    Words words;
    std::memcpy(&words, from, sizeof words);
    return words;
}

// A full tile of 32-bit elements, in squares of 4 × 4 held in registers.
void swap_words(const uint32_t* source, int64_t source_row, uint32_t* target, int64_t target_row) {
    for (int64_t i = 0; i < tile; i += 4)
        for (int64_t j = 0; j < tile; j += 4) {
            const uint32_t* from = source + j * source_row + i;
            Words a = load_words(from), b = load_words(from + source_row),
                  c = load_words(from + 2 * source_row), d = load_words(from + 3 * source_row);
            Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                  ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                  cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                  cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            const Words rows[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                                   __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                                   __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                   __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
            for (int row = 0; row < 4; ++row)
                std::memcpy(target + (i + row) * target_row + j, &rows[row], sizeof rows[row]);
        }
}

using Bytes __attribute__((vector_size(16))) = uint8_t;

// A full tile of bytes: four rounds of riffling the first eight rows with the last eight.
void swap_bytes(const uint8_t* source, int64_t source_row, uint8_t* target, int64_t target_row) {
    Bytes rows[tile], next[tile];
#pragma GCC unroll 16
    for (int64_t j = 0; j < tile; ++j) std::memcpy(&rows[j], source + j * source_row, sizeof rows[j]);
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
        for (int64_t r = 0; r < tile / 2; ++r) {
            Bytes a = rows[r], b = rows[r + tile / 2];
            next[2 * r] =
                __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            next[2 * r + 1] =
                __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
#pragma GCC unroll 16
        for (int64_t r = 0; r < tile; ++r) rows[r] = next[r];
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < tile; ++i) std::memcpy(target + i * target_row, &rows[i], sizeof rows[i]);
}

// target[i * target_row + j] = source[j * source_row + i] for a tile; the buffer makes both sides whole
// lines.
template <class T>
void swap_tile(const T* source, int64_t source_row, T* target, int64_t target_row, int64_t rows,
               int64_t columns) {
    if (rows == tile && columns == tile) {
        if constexpr (sizeof(T) == sizeof(uint32_t))
            return swap_words(source, source_row, target, target_row);
        if constexpr (sizeof(T) == 1) return swap_bytes(source, source_row, target, target_row);
        T buffer[tile][tile];
        for (int64_t j = 0; j < tile; ++j)
            for (int64_t i = 0; i < tile; ++i) buffer[i][j] = source[j * source_row + i];
        for (int64_t i = 0; i < tile; ++i) std::memcpy(target + i * target_row, buffer[i], sizeof buffer[i]);
        return;
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) target[i * target_row + j] = source[j * source_row + i];
}

}  // namespace

CopyLoops::CopyLoops(const StridedCopy& copy) : copy_(copy), rank_(int(copy.axes().size())) {
    std::copy(copy.axes().begin(), copy.axes().end(), axes_.begin());
    if (rank_ > 0) choose_method();
}

// A loop over two or three elements costs more than its copy: then the longest axis becomes the innermost.
void CopyLoops::prefer_long_axis() {
    auto longest = std::max_element(axes_.begin(), axes_.begin() + rank_,
                                    [](const Axis& a, const Axis& b) { return a.extent < b.extent; });
    if (axes_[size_t(rank_ - 1)].extent >= 8 || longest->extent < 64) return;
    std::rotate(longest, longest + 1, axes_.begin() + rank_);
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
    int64_t divided = tiles ? rows.extent : inner.extent, part = tiles ? tile : piece;
    int64_t parts = (divided + part - 1) / part;
    int64_t unit_cost = std::min(divided, part) * (tiles ? inner.extent : 1);

    auto run_units = [&](int64_t begin, int64_t end) {
        Odometer odometer(axes_, outer_rank, begin / parts);
        for (int64_t unit = begin, p = begin % parts; unit < end; ++unit) {
            int64_t first = p * part, n = std::min(part, divided - first);
            if (tiles) {
                const T* s = source + odometer.source + first;
                T* t = target + odometer.target + first * rows.target;
                for (int64_t j = 0; j < inner.extent; j += tile)
                    swap_tile(s + j * inner.source, inner.source, t + j, rows.target, n,
                              std::min(tile, inner.extent - j));
            } else {
                const T* s = source + odometer.source + first * inner.source;
                T* t = target + odometer.target + first * inner.target;
                if (method_ == Method::runs)
                    std::memcpy(t, s, size_t(n) * sizeof(T));
                else if (method_ == Method::fill)
                    std::fill(t, t + n, *s);
                else
                    for (int64_t i = 0; i < n; ++i) t[i * inner.target] = s[i * inner.source];
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
