// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Erf>::kernels = floats<functor::Erf>();
template <>
const ElementwiseKernels Elementwise<ops::Exp>::kernels = floats<functor::Exp>();
template <>
const ElementwiseKernels Elementwise<ops::Expm1>::kernels = floats<functor::Expm1>();
template <>
const ElementwiseKernels Elementwise<ops::Log>::kernels = floats<functor::Log>();
template <>
const ElementwiseKernels Elementwise<ops::Log1p>::kernels = floats<functor::Log1p>();
template <>
const ElementwiseKernels Elementwise<ops::Logaddexp>::kernels = floats<functor::Logaddexp>();
template <>
const ElementwiseKernels Elementwise<ops::Pow>::kernels = floats<functor::Pow>();

}  // namespace mge::cuda
