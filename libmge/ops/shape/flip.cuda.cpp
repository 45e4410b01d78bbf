// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cuda, Flip) { return cuda::copy_algorithms<plan_flip>(); }

}  // namespace mge::ops
