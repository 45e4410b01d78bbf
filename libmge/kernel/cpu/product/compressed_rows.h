// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a compressed weight, read once in place: as floats, or times some rows of x.

#include "libmge/kernel/compressed_weight.h"

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
};
inline int64_t half_row_of(const CompressedWeight& shape) {
    return shape.bits == 4 ? (shape.columns + 1) / 2 : 0;
}
// `ordered` has space for `count` times twice half_row_of(); dense rows of x.
OrderedRows order_rows(const CompressedWeight& shape, const float* x, int64_t count, float* ordered);

// y[m][n] = sum over columns of x[m] * w[n], for n in [first, last); rows of y are `shape.rows` long.
void multiply_rows(const CompressedWeight& shape, const CompressedData& data, const OrderedRows& x,
                   int64_t first, int64_t last, float* y);

// Functions compiled once per instruction set, by the bits of a step.
struct CompressedFunctions {
    using Expand = void (*)(const CompressedWeight&, const CompressedData&, int64_t, int64_t, float*);
    using Multiply = void (*)(const CompressedWeight&, const CompressedData&, const OrderedRows&, int64_t,
                              int64_t, float*);
    Expand expand8, expand4;
    Multiply multiply8, multiply4;
};

}  // namespace mge::cpu
