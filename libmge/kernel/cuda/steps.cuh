// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/scalar.cuh"

// The functors of kernel/scalar/steps.inc as device functions.

namespace mge::cuda::steps {

using ::rint;
using ::round;
#define inline __device__ __forceinline__
#include "libmge/kernel/scalar/steps.inc"
#undef inline

}  // namespace mge::cuda::steps
