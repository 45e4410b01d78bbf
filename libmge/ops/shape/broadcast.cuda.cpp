// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/broadcast.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge {
namespace {

constexpr auto list = cuda::copy_algorithms<ops::plan_broadcast>();

}  // namespace

template <>
KernelList kernels(Cuda, ops::BroadcastTo) {
    return list;
}
template <>
KernelList kernels(Cuda, ops::BroadcastLike) {
    return list;
}

}  // namespace mge
