// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {
namespace {

constexpr auto list = cuda::copy_algorithms<plan_transpose>();

}  // namespace

KernelList kernels(Cuda, Transpose) { return list; }

}  // namespace mge::ops
