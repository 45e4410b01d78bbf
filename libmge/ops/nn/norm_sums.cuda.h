// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gradients of the factors of the normalisations: sums over all that a factor was used for.

#include "libmge/kernel/cuda/reduce/reduce.h"

namespace mge::cuda {

inline constexpr size_t norm_total_bytes = 16;

struct FactorSums {
    ReduceGeometry geometry;  // that of x, with the axes of the factors kept
    // The statistics of element `at` of x are those with number at / span % count.
    int64_t span, count;
    bool are_f32;  // dweight and dbias; otherwise they have the type of x
};

// dweight = Σ dy·x̂, dbias = Σ dy with x̂ = (x − mean)·inv_std; T is f16, bf16 or float.
template <class T>
void sum_factor_gradients(Stream stream, const FactorSums& sums, const T* x, const T* dy, const float* mean,
                          const float* inv_std, void* dweight, void* dbias, void* workspace);

}  // namespace mge::cuda
