// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reshape.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge {

template <>
KernelList kernels(Cuda, ops::Reshape) {
    return cuda::byte_copies;
}
template <>
KernelList kernels(Cuda, ops::ReshapeLike) {
    return cuda::byte_copies;
}
template <>
KernelList kernels(Cuda, ops::Flatten) {
    return cuda::byte_copies;
}
template <>
KernelList kernels(Cuda, ops::AddAxis) {
    return cuda::byte_copies;
}
template <>
KernelList kernels(Cuda, ops::RemoveAxis) {
    return cuda::byte_copies;
}

}  // namespace mge
