// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collective operations of the threads of a warp or a block. Every thread takes part, and each gets the
// result. Values are combined in an order that depends only on the size of the block.

#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// The value of the lane whose number differs by these bits. Types with several members have an overload.
template <class V>
MGE_DEVICE V exchanged(V value, int bits) {
    return __shfl_xor_sync(~0u, value, bits);
}

// Two values that are combined separately, such as two sums.
template <class V>
struct Both {
    V a, b;
};
template <class V>
MGE_DEVICE Both<V> operator+(Both<V> x, Both<V> y) {
    return {x.a + y.a, x.b + y.b};
}
template <class V>
MGE_DEVICE Both<V> exchanged(Both<V> value, int bits) {
    return {exchanged(value.a, bits), exchanged(value.b, bits)};
}

// Among groups of so many neighbouring lanes, a power of two.
template <class V, class Join>
MGE_DEVICE V across_lanes(V value, int lanes, Join join) {
    for (int bits = lanes / 2; bits > 0; bits /= 2) {
        V other = exchanged(value, bits);
        // The lower lane's value is first in both, so that both get the same bits.
        value = threadIdx.x & bits ? join(other, value) : join(value, other);
    }
    return value;
}

template <class V, class Join>
MGE_DEVICE V across_block(V value, Join join) {
    __shared__ V of_warp[32];
    value = across_lanes(value, 32, join);
    __syncthreads();  // another thread may still read results of the last call
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    V total = of_warp[0];
    for (int warp = 1; warp < int(blockDim.x) / 32; ++warp) total = join(total, of_warp[warp]);
    return total;
}

}  // namespace mge::cuda
