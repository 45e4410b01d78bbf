// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {

// Declared for device text by kernel/cuda/launch.cuh, which is none of a host's compiler's business.
void check_launch(cudaError_t status);
void check_launch(cudaError_t status) { check(status, "cudaLaunchKernel"); }

}  // namespace mge::cuda
