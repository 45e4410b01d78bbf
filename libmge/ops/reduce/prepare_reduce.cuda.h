// SPDX-License-Identifier: Apache-2.0
#pragma once
// For .cuda.cpp: from a problem that is a reduction to its launch.

#include <array>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/reduce/reduce.cuda.h"

namespace mge::ops {

// `x`: the shape in which input 0 is viewed; it is row-major in memory.
Prepared prepare_cuda_reduction(const Problem& problem, const Shape& x,
                                const std::array<bool, max_rank>& reduced, const cuda::ReduceKernels& kernels,
                                bool is_mean = false);
void run_cuda_reduction(const Prepared& prepared, const Launch& launch);

}  // namespace mge::ops
