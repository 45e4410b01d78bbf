// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a compressed weight, read once in place: as floats, or times some rows of x.

#include "libmge/kernel/compressed_weight.h"
#include "libmge/kernel/cpu/product/digit_row.h"

namespace mge::cpu {

// Rows [first, last) as floats, dense from w on.
void expand_rows(const CompressedWeight& shape, const CompressedData& data, int64_t first, int64_t last,
                 float* w);

// Rows of x in the order in which the steps of a byte come: of 8 bits as they are; of 4 bits first the even
// columns, then the odd ones, each `half_row` floats, the last of which may be a zero.
struct OrderedRows {
    int64_t count;
    int64_t stride;    // floats from row to row
    int64_t half_row;  // 0: whole rows
    const float* x;
    // For a single row whose groups are whole vectors, else null: a vector for each group, its sum of x times
    // minus the default zero point.
    const float* shifts = nullptr;
    // The same row as integers, or null. If set, only `count` is valid besides.
    const DigitBlock* digits = nullptr;
};
inline int64_t half_row_of(const CompressedWeight& shape) {
    return shape.bits == 4 ? (shape.columns + 1) / 2 : 0;
}
// The floats that order_rows() needs.
int64_t ordered_floats(const CompressedWeight& shape, int64_t count);
// Dense rows of x; `ordered` has space for ordered_floats(); has_zeros: the weight has zero points.
OrderedRows order_rows(const CompressedWeight& shape, const float* x, int64_t count, bool has_zeros,
                       float* ordered);

// y[m][n] = sum over columns of x[m] * w[n], for n in [first, last); rows of y are `shape.rows` long.
void multiply_rows(const CompressedWeight& shape, const CompressedData& data, const OrderedRows& x,
                   int64_t first, int64_t last, float* y);

// Functions compiled once per instruction set, by the bits of a step.
struct CompressedFunctions {
    using Expand = void (*)(const CompressedWeight&, const CompressedData&, int64_t, int64_t, float*);
    using Multiply = void (*)(const CompressedWeight&, const CompressedData&, const OrderedRows&, int64_t,
                              int64_t, float*);
    // The shifts of a row; false if it has none.
    using Shift = bool (*)(const CompressedWeight&, const OrderedRows&, float* shifts);
    Expand expand8, expand4;
    Multiply multiply8, multiply4;
    Shift shift8, shift4;
};

}  // namespace mge::cpu
