// SPDX-License-Identifier: Apache-2.0
#pragma once
// y = activation(x * weight + bias + residual) for one row x and a constant weight: linear layers of one item
// and convolutions of one pixel.

#include "libmge/kernel/activation.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/packed_copies.h"

namespace mge::cpu {

// weight[k][n] is at k * stride_k + n * stride_n.
struct RowTimesWeight {
    int64_t n, k;
    int64_t stride_k, stride_n;
    Activation activation = Activation::none;
};

// A larger weight comes from memory or the last-level cache in any layout, and a copy only costs.
inline constexpr int64_t row_weight_limit = 2 << 20;  // elements

// Packs the weight, the operator's input `weight_input`; equal ones are shared. `packing`: the records and
// the cache of packed constants.
Prepared prepare_row(const RowTimesWeight& shape, const void* weight, size_t weight_input, int threads,
                     const Packing& packing);
struct RowAddresses {
    const float *x, *bias, *residual;  // the last two may be null
    float* y;
};
void run_row(const Prepared& prepared, const RowAddresses& addresses, int threads);

}  // namespace mge::cpu
