// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"

// Plain functions without a word about devices.
#define constexpr __device__ __forceinline__
#include "libmge/kernel/scalar/philox.h"
#undef constexpr

namespace mge::cuda {

// The random bits of one operator call: block b serves the elements 4b … 4b + 3.
struct PhiloxBlocks {
    unsigned key, counter, stream;

    // state: seed and counter.
    __device__ PhiloxBlocks(const int32_t* state, unsigned stream)
        : key(unsigned(state[0])), counter(unsigned(state[1])), stream(stream) {}
    __device__ PhiloxWords operator[](int64_t block) const {
        return philox((unsigned long long)(block), counter, stream, key);
    }
};

}  // namespace mge::cuda
