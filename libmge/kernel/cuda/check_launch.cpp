// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {

// Declared in kernel/cuda/launch.cuh for device code, which a host compiler cannot include.
void check_launch(cudaError_t status);
void check_launch(cudaError_t status) { check(status, "cudaLaunchKernel"); }

}  // namespace mge::cuda
