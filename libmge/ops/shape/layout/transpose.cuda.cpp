// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/transpose.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge {
namespace {

constexpr auto list = cuda::copy_algorithms<ops::plan_transpose>();

}  // namespace

template <>
KernelList kernels(Cuda, ops::Transpose) {
    return list;
}

}  // namespace mge
