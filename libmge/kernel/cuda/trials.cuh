// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers that are made by trial, on a GPU.

#include "libmge/kernel/cuda/philox.cuh"

namespace mge::cuda::trials {

// Functions of doubles.
using ::cos, ::exp, ::fabs, ::floor, ::log, ::sqrt;
#define inline __device__ __forceinline__
#include "libmge/kernel/scalar/trials.inc"
#undef inline

}  // namespace mge::cuda::trials
