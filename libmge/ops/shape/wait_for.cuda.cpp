// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/wait_for.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge {

template <>
KernelList kernels(Cuda, ops::WaitFor) {
    return cuda::byte_copies;
}

}  // namespace mge
