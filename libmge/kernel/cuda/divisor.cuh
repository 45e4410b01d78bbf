// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/divisor.h"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// Below 2^31.
MGE_DEVICE int quotient(int n, Divisor by) {
    return int((__umulhi(unsigned(n), by.magic) + unsigned(n)) >> by.shift);
}
// For any nonnegative size.
MGE_DEVICE int64_t long_quotient(int64_t n, Divisor by) {
    return n >> 31 ? n / int64_t(by.value) : int64_t(quotient(int(n), by));
}
// Returns the remainder, and leaves the quotient in `index`, which is below 2^31.
MGE_DEVICE int split_index(int& index, Divisor by) {
    int next = quotient(index, by), within = index - next * int(by.value);
    index = next;
    return within;
}

}  // namespace mge::cuda
