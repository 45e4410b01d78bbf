// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cuda, Transpose) { return cuda::copy_algorithms<plan_transpose>(); }

}  // namespace mge::ops
