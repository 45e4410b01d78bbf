// SPDX-License-Identifier: Apache-2.0
#pragma once
// For .cuda.cpp: from a reduction's problem to its launch.

#include <array>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/reduce/reduce.cuda.h"

namespace mge::ops {

Prepared prepare_cuda_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                                const cuda::ReduceKernels& kernels, bool is_mean = false);
void run_cuda_reduction(const Prepared& prepared, const Launch& launch);

}  // namespace mge::ops
