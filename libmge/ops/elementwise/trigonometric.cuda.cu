// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Acos>::kernels = floats<functor::Acos>();
template <>
const ElementwiseKernels Elementwise<ops::Acosh>::kernels = floats<functor::Acosh>();
template <>
const ElementwiseKernels Elementwise<ops::Asin>::kernels = floats<functor::Asin>();
template <>
const ElementwiseKernels Elementwise<ops::Asinh>::kernels = floats<functor::Asinh>();
template <>
const ElementwiseKernels Elementwise<ops::Atan>::kernels = floats<functor::Atan>();
template <>
const ElementwiseKernels Elementwise<ops::Atan2>::kernels = floats<functor::Atan2>();
template <>
const ElementwiseKernels Elementwise<ops::Atanh>::kernels = floats<functor::Atanh>();
template <>
const ElementwiseKernels Elementwise<ops::Cos>::kernels = floats<functor::Cos>();
template <>
const ElementwiseKernels Elementwise<ops::Cosh>::kernels = floats<functor::Cosh>();
template <>
const ElementwiseKernels Elementwise<ops::Sin>::kernels = floats<functor::Sin>();
template <>
const ElementwiseKernels Elementwise<ops::Sinh>::kernels = floats<functor::Sinh>();
template <>
const ElementwiseKernels Elementwise<ops::Tan>::kernels = floats<functor::Tan>();
template <>
const ElementwiseKernels Elementwise<ops::Tanh>::kernels = floats<functor::Tanh>();

}  // namespace mge::cuda
