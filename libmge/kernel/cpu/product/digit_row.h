// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of floats times rows of a compressed weight, by sums of byte products in vectors (AVX-512 VNNI). The
// floats of a group become integers of 24 bits, as many as a float has, relative to the largest of the group:
// three signed digits of 8 bits. Sums of digits times steps are exact, and a step is never converted.

#include <cstdint>

#include "libmge/kernel/compressed_weight.h"

namespace mge::cpu {

// 64 bytes of a row of steps have the digits of the columns in their low halves, or in whole bytes, then of
// those in their high halves. Each four bytes have a sum, which starts at the digits times minus the default
// zero point, and the value of its last digit.
struct DigitBlock {
    static constexpr int64_t bytes = 64, sums = bytes / 4;
    static constexpr int digits = 3;
    int8_t digit[2][digits][bytes];
    int32_t start[digits][sums];
    float unit[sums];
};

// False if the processor lacks the instructions, MGE_ISA forbids them, or groups do not fit blocks.
bool has_digit_rows(const CompressedWeight& shape);
inline int64_t digit_blocks(const CompressedWeight& shape) { return shape.row_bytes() / DigitBlock::bytes; }
// Returns false for numbers that are not finite, and for groups of very small ones.
bool make_digits(const CompressedWeight& shape, const float* x, DigitBlock* blocks);
// y[n] for n in [first, last); data.zero is null.
void multiply_digits(const CompressedWeight& shape, const CompressedData& data, const DigitBlock* blocks,
                     int64_t first, int64_t last, float* y);

}  // namespace mge::cpu
