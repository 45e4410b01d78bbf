// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of f32 matrices by matrix instructions that multiply bf16 and add f32 (AMX). A float is exactly
// the sum of three bf16: high + middle + low, of 8 bits each. Six of the nine
// products of two such sums are computed; the others are below 2^-24 of the whole, less than the rounding
// error of a float product. Six of these instructions take less than half the time of one fused float
// multiplication.
//
// Infinity, NaN and numbers that bf16 rounds to infinity have no such parts: packing reports them. Subnormal
// numbers become 0.

#include <cstddef>
#include <cstdint>

namespace mge::cpu {

bool has_split_products();

// A panel is split_lines rows of a, or columns of b, with all their k; a step is split_depth of k.
inline constexpr int64_t split_lines = 32, split_depth = 32;
struct alignas(64) SplitStep {
    std::byte bytes[3 * split_lines * split_depth * 2];
};
inline int64_t split_steps(int64_t depth) { return (depth + split_depth - 1) / split_depth; }
inline int64_t split_panels(int64_t lines) { return (lines + split_lines - 1) / split_lines; }

// The lines of one panel in place; one of the strides is 1. Missing elements count as 0.
struct SplitSource {
    const float* first;
    int64_t lines, depth, line_stride, depth_stride;
};
// False if a number has no parts: then the packed data is invalid.
bool pack_split_rows(const SplitSource& source, SplitStep* packed);
bool pack_split_columns(const SplitSource& source, SplitStep* packed);
// A panel of rows times one of columns, row by row.
struct alignas(64) SplitSums {
    float values[split_lines * split_lines];
};
// sums = Σ over the steps; between begin_tiles() and end_tiles().
void multiply_split(const SplitStep* rows, const SplitStep* columns, int64_t steps, SplitSums& sums);

// y = sums + bias + residual; bias and residual may be null.
struct SplitResult {
    const float *bias, *residual;
    float* y;
    int64_t stride;  // stride of y and residual
};
void store_split(const SplitSums& sums, int64_t rows, int64_t columns, const SplitResult& to);

}  // namespace mge::cpu
