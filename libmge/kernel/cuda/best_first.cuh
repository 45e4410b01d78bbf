// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// True if a comes before b: larger first, NaN last, equal values in their original order.
template <class T>
MGE_DEVICE bool is_before(T a, int64_t at_a, T b, int64_t at_b) {
    if (a > b || (b != b && a == a)) return true;
    return !(b > a || (a != a && b == b)) && at_a < at_b;
}

}  // namespace mge::cuda
