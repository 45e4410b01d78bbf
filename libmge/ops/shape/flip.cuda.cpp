// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {
namespace {

constexpr auto list = cuda::copy_algorithms<plan_flip>();

}  // namespace

KernelList kernels(Cuda, Flip) { return list; }

}  // namespace mge::ops
