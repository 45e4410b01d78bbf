// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Equal>::kernels = questions<functor::Equal>();
template <>
const ElementwiseKernels Elementwise<ops::Greater>::kernels = questions<functor::Greater>();
template <>
const ElementwiseKernels Elementwise<ops::GreaterEqual>::kernels = questions<functor::GreaterEqual>();
template <>
const ElementwiseKernels Elementwise<ops::IsInf>::kernels = questions<functor::Isinf>();
template <>
const ElementwiseKernels Elementwise<ops::IsNan>::kernels = questions<functor::Isnan>();
template <>
const ElementwiseKernels Elementwise<ops::Less>::kernels = questions<functor::Less>();
template <>
const ElementwiseKernels Elementwise<ops::LessEqual>::kernels = questions<functor::LessEqual>();
template <>
const ElementwiseKernels Elementwise<ops::NotEqual>::kernels = questions<functor::NotEqual>();

}  // namespace mge::cuda
