// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of f32 matrices by matrix instructions that multiply bf16 and add f32 (AMX). A float is exactly
// the sum of three bf16: high + middle + low, of 8 bits each. Six of the nine
// products of two such sums are computed; the others are below 2^-24 of the whole, less than the rounding
// error of a float product. Six of these instructions take less than half the time of one fused float
// multiplication.
//
// These instructions take subnormal numbers and products for 0. So the elements of a panel are multiplied by
// a power of two first, and each is exactly the sum of its parts. Infinity and NaN have no parts, nor have
// panels with a value above 2^35 beside one that is 2^160 times as small. Products that still count as 0 cost
// sums of k products at most k * 2^-176, much less than any float, or k * 2^-189 * max|a| * max|b| of the
// panels if that is more.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/activation.h"

namespace mge::cpu {

bool has_split_products();

// A panel is split_lines rows of a, or columns of b, with all their k; a step is split_depth of k.
inline constexpr int64_t split_lines = 32, split_depth = 32;
struct alignas(64) SplitStep {
    std::byte bytes[3 * split_lines * split_depth * 2];
};
inline int64_t split_steps(int64_t depth) { return ceil_div(depth, split_depth); }
inline int64_t split_panels(int64_t lines) { return ceil_div(lines, split_lines); }

// The elements of a panel in place; one of the strides is 1. Blocks of 16 lines, or of 16 k, may have any
// distance. Missing elements count as 0.
struct SplitSource {
    static constexpr int64_t block = 16;

    const float* first;
    int64_t lines, depth, line_stride, depth_stride;
    int64_t line_block = block * line_stride, depth_block = block * depth_stride;

    // Both are multiples of a block.
    const float* at(int64_t line, int64_t k) const {
        return first + line / block * line_block + k / block * depth_block;
    }
};
// The largest absolute value of each lane, as bits.
struct alignas(64) SplitLargest {
    static constexpr int64_t lanes = 16;

    uint32_t bits[lanes]{};
};
// Elements are multiplied by 2^exponent: by this one if the largest is from 2^-32 to below 2^16.
inline constexpr int usual_split_exponent = 42;
// The exponent for such a panel; none if a number is not finite.
std::optional<int> split_exponent(const SplitLargest& largest);
// The exponent, which is the given one at best; none if a number has no parts: then the packed data is
// invalid.
std::optional<int> pack_split(const SplitSource& source, bool is_of_columns, int exponent, SplitStep* packed);

// A panel of rows times one of columns, row by row.
struct alignas(64) SplitSums {
    float values[split_lines * split_lines];
};
// The splitting of another panel with the usual exponent, in the time in which the processor multiplies:
// vectors `first` to before `last` of the split_lines of each step.
struct SplitMeanwhile {
    const SplitSource* source;  // for which can_split_meanwhile()
    bool is_of_columns;
    int64_t first, last;
    int64_t ahead;  // distance of prefetches, in floats
    SplitStep* packed;
    SplitLargest* largest;
};
// A whole panel of whole steps, and a vector is in one piece.
bool can_split_meanwhile(const SplitSource& source, bool is_of_columns);

// Rows of y or of a residual, in blocks of 16 columns.
template <class Float>
struct SplitRows {
    Float* first;  // a residual may be null
    int64_t row_stride, block_stride;

    Float* at(int64_t row, int64_t column) const {
        return first + row * row_stride + column / SplitSource::block * block_stride;
    }
};
// y = sums + bias + residual; bias may be null. y may be the residual.
struct SplitResult {
    const float* bias;
    SplitRows<const float> residual;
    SplitRows<float> y;
};
// Sums that are to be stored.
struct SplitPending {
    const SplitSums* sums;
    int exponent;  // they are 2^exponent times as large
    int64_t rows, columns;
    SplitResult to;
    Activation activation;  // none, relu or relu_keeps_nan
};
void store_split(const SplitPending& pending);

// sums = Σ over the steps; between begin_tiles() and end_tiles(). Meanwhile it does other work, unless that
// is null: splits a panel of as many steps and stores earlier sums.
struct SplitWork {
    const SplitMeanwhile* split;
    const SplitPending* store;
};
void multiply_split(const SplitStep* rows, const SplitStep* columns, int64_t steps, const SplitWork& work,
                    SplitSums& sums);

}  // namespace mge::cpu
