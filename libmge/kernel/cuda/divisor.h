// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cuda {

// A divisor that many numbers below 2^31 are divided by: with a product instead of a division
// (n / d = (high half of n magic + n) >> shift).
struct Divisor {
    uint32_t value = 1, magic = 1, shift = 0;
};

// For 1 up to 2^31.
inline Divisor divisor_of(int64_t value) {
    Divisor d{uint32_t(value), 0, 0};
    while ((int64_t(1) << d.shift) < value) ++d.shift;
    d.magic = uint32_t((uint64_t((int64_t(1) << d.shift) - value) << 32) / uint64_t(value) + 1);
    return d;
}

}  // namespace mge::cuda
