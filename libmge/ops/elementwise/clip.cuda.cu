// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Clip>::kernels = numbers<functor::Clip>();

}  // namespace mge::cuda
