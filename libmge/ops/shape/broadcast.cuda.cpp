// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {
namespace {

constexpr auto list = cuda::copy_algorithms<plan_broadcast>();

}  // namespace

KernelList kernels(Cuda, BroadcastTo) { return list; }
KernelList kernels(Cuda, BroadcastLike) { return list; }

}  // namespace mge::ops
