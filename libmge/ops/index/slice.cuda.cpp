// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice.h"

#include "libmge/kernel/cuda/copy_algorithms.h"

namespace mge {
namespace {

constexpr auto list = cuda::copy_algorithms<ops::plan_slice>();

}  // namespace

template <>
KernelList kernels(Cuda, ops::Slice) {
    return list;
}

}  // namespace mge
