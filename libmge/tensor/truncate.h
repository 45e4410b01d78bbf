// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of real numbers to integers by truncation: the behaviour of x86's conversion instructions
// without undefined behaviour. Values out of range become the smallest integer.

#include <cstdint>

namespace mge {

template <class Real>
int32_t truncate_to_i32(Real x) {
    return x >= Real(-0x1p31) && x < Real(0x1p31) ? int32_t(x) : INT32_MIN;
}
template <class Real>
int64_t truncate_to_i64(Real x) {
    return x >= Real(-0x1p63) && x < Real(0x1p63) ? int64_t(x) : INT64_MIN;
}
template <class Real>
uint64_t truncate_to_u64(Real x) {
    return x >= Real(0x1p63) && x < Real(0x1p64) ? uint64_t(x) : uint64_t(truncate_to_i64(x));
}

}  // namespace mge
