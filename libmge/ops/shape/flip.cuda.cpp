// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/flip.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge {
namespace {

constexpr auto list = cuda::copy_algorithms<ops::plan_flip>();

}  // namespace

template <>
KernelList kernels(Cuda, ops::Flip) {
    return list;
}

}  // namespace mge
