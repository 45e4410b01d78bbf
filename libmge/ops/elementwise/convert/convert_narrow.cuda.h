// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Conversion of real numbers to codes by tables of tensor/narrow.h: codes are ordered by magnitude, which is
// ordered by its bits. So the device does not need the meaning of the codes.
struct NarrowCodes {
    static constexpr int most = 256;
    int count[2] = {};        // by sign, as below
    uint32_t least[2][most];  // the bits of the smallest size that becomes the code
    uint8_t code[2][most];
    uint8_t nan;
};
void convert_by_codes(Stream stream, int type, const void* x, uint8_t* y, int64_t n,
                      const NarrowCodes& codes);

// The lowest bits of what is left without its fraction.
void convert_to_low_bits(Stream stream, int type, const void* x, uint8_t* y, int64_t n, unsigned mask);

}  // namespace mge::cuda
