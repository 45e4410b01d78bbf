// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct UniformRange {
    float low, extent;
    float last;  // below what is not included
};
void fill_uniform(Stream stream, const int32_t* state, unsigned random_stream, int64_t count,
                  UniformRange range, float* y);
void fill_normal(Stream stream, const int32_t* state, unsigned random_stream, int64_t count, float mean,
                 float deviation, float* y);

}  // namespace mge::cuda
