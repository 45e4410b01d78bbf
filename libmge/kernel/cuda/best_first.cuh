// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// Whether a stands before b: the larger first, what is no number last, of equals the one that was first.
template <class T>
MGE_DEVICE bool is_before(T a, int64_t at_a, T b, int64_t at_b) {
    if (a > b || (b != b && a == a)) return true;
    return !(b > a || (a != a && b == b)) && at_a < at_b;
}

}  // namespace mge::cuda
