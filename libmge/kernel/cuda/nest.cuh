// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/nest.h"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

struct Divided {
    int64_t quotient, rest;
};
// For n ≥ 0. Divisions of 64 bits are slow, and most tensors do not need them.
MGE_DEVICE Divided divide(int64_t n, int64_t by) {
    if ((n | by) >> 32) return {n / by, n % by};
    auto small = uint32_t(n), divisor = uint32_t(by), quotient = small / divisor;
    return {quotient, small - quotient * divisor};
}

// Where the n-th place of the loops lies.
MGE_DEVICE int64_t place_in(const Nest& nest, int64_t n) {
    if (nest.loops == 0) return 0;
    int64_t at = 0;
    for (int loop = nest.loops - 1; loop > 0; --loop) {
        auto [next, i] = divide(n, nest.extent[loop]);
        at += i * nest.stride[loop];
        n = next;
    }
    return at + n * nest.stride[0];
}

}  // namespace mge::cuda
