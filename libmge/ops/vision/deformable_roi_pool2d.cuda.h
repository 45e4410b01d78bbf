// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/reduce/fixed_sums.h"
#include "libmge/ops/vision/deformable_pooling.h"

namespace mge::cuda {

// offsets: none where p.parts is 0.
struct DeformableArguments {
    DeformablePooling p;
    const float *x, *regions, *offsets;
};
void deformable_pool(Stream stream, const DeformableArguments& arguments, float* y);
// sums: of the elements of x.
void deformable_pool_dx(Stream stream, const DeformableArguments& arguments, const float* dy,
                        const FixedSums& sums, float* dx);
void deformable_pool_doffsets(Stream stream, const DeformableArguments& arguments, const float* dy,
                              float* doffsets);

}  // namespace mge::cuda
