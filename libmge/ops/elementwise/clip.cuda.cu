// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Clip;
}  // namespace mge::ops

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Clip>::kernels = numbers<functor::Clip>();

}  // namespace mge::cuda
