// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Abs>::kernels = numbers<functor::Abs>();
template <>
const ElementwiseKernels Elementwise<ops::Add>::kernels = numbers<functor::Add>();
template <>
const ElementwiseKernels Elementwise<ops::Ceil>::kernels = numbers<functor::Ceil>();
template <>
const ElementwiseKernels Elementwise<ops::Div>::kernels = floats<functor::Div>();
template <>
const ElementwiseKernels Elementwise<ops::Floor>::kernels = numbers<functor::Floor>();
template <>
const ElementwiseKernels Elementwise<ops::FloorDiv>::kernels = numbers<functor::FloorDiv>();
template <>
const ElementwiseKernels Elementwise<ops::Maximum>::kernels = numbers<functor::Maximum>();
template <>
const ElementwiseKernels Elementwise<ops::Minimum>::kernels = numbers<functor::Minimum>();
template <>
const ElementwiseKernels Elementwise<ops::Mod>::kernels = numbers<functor::Mod>();
template <>
const ElementwiseKernels Elementwise<ops::Mul>::kernels = numbers<functor::Mul>();
template <>
const ElementwiseKernels Elementwise<ops::Neg>::kernels = numbers<functor::Neg>();
template <>
const ElementwiseKernels Elementwise<ops::Reciprocal>::kernels = floats<functor::Reciprocal>();
template <>
const ElementwiseKernels Elementwise<ops::Round>::kernels = numbers<functor::Round>();
template <>
const ElementwiseKernels Elementwise<ops::RoundToEven>::kernels = numbers<functor::RoundToEven>();
template <>
const ElementwiseKernels Elementwise<ops::Rsqrt>::kernels = floats<functor::Rsqrt>();
template <>
const ElementwiseKernels Elementwise<ops::Sign>::kernels = numbers<functor::Sign>();
template <>
const ElementwiseKernels Elementwise<ops::Sqrt>::kernels = floats<functor::Sqrt>();
template <>
const ElementwiseKernels Elementwise<ops::Square>::kernels = numbers<functor::Square>();
template <>
const ElementwiseKernels Elementwise<ops::Sub>::kernels = numbers<functor::Sub>();

}  // namespace mge::cuda
