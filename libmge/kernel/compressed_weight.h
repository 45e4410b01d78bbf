// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of weights in 8 or 4 bits each, for products with floats. A row is cut into groups of columns; a
// group has a scale and a zero point: w = (step - zero) * scale. Rows lie one behind the other, groups within
// them too, each filled up to its full length; of a byte with two steps the low half comes first. That is how
// ONNX Runtime's MatMulNBits stores them.

#include <algorithm>
#include <cstdint>

namespace mge {

struct CompressedWeight {
    int64_t rows, columns;
    int64_t group;  // columns; the last group of a row may have fewer
    int bits;

    int64_t groups() const { return (columns + group - 1) / group; }  // of a row
    int64_t group_bytes() const { return (group * bits + 7) / 8; }
    int64_t row_bytes() const { return groups() * group_bytes(); }
    int64_t columns_of(int64_t g) const { return std::min(group, columns - g * group); }
    // The zero point where none is given.
    int middle() const { return 1 << (bits - 1); }
};

struct CompressedData {
    const uint8_t* steps;
    const float* scale;
    const uint8_t* zero;  // one for each scale; null: the middle
};

}  // namespace mge
