// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cuda, BroadcastTo) { return cuda::copy_algorithms<plan_broadcast>(); }
KernelList kernels(Cuda, BroadcastLike) { return cuda::copy_algorithms<plan_broadcast>(); }

}  // namespace mge::ops
