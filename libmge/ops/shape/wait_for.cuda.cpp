// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/wait_for.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cuda, WaitFor) { return cuda::byte_copies; }

}  // namespace mge::ops
