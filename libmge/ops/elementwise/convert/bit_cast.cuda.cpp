// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/bit_cast.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"

namespace mge::ops {

KernelList kernels(Cuda, BitCast) { return cuda::byte_copies; }

}  // namespace mge::ops
