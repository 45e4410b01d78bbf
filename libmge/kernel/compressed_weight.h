// SPDX-License-Identifier: Apache-2.0
#pragma once
// A weight matrix in 8 or 4 bits, for products with floats. A row is divided into groups of columns; a group
// has a scale and a zero point: w = (step - zero) * scale. Rows, and groups within them, are contiguous, each
// padded to its full length; the low half of a byte with two steps comes first. This is the format of ONNX
// Runtime's MatMulNBits.

#include <algorithm>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"

namespace mge {

struct CompressedWeight {
    int64_t rows, columns;
    int64_t group;  // columns; the last group of a row may have fewer
    int bits;

    int64_t groups() const { return ceil_div(columns, group); }  // in a row
    int64_t group_bytes() const { return (group * bits + 7) / 8; }
    int64_t row_bytes() const { return groups() * group_bytes(); }
    int64_t columns_of(int64_t g) const { return std::min(group, columns - g * group); }
    // The default zero point.
    int middle() const { return 1 << (bits - 1); }
};

struct CompressedData {
    const uint8_t* steps;
    const float* scale;
    const uint8_t* zero;  // one for each scale; null: the middle
};

}  // namespace mge
