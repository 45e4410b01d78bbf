// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::Gelu>::kernels = floats<functor::Gelu>();
template <>
const ElementwiseKernels Elementwise<ops::GeluSlope>::kernels = floats<functor::GeluSlope>();
template <>
const ElementwiseKernels Elementwise<ops::Hsigmoid>::kernels = floats<functor::Hsigmoid>();
template <>
const ElementwiseKernels Elementwise<ops::Hswish>::kernels = floats<functor::Hswish>();
template <>
const ElementwiseKernels Elementwise<ops::LeakyRelu>::kernels = floats<functor::LeakyRelu>();
template <>
const ElementwiseKernels Elementwise<ops::Logsigmoid>::kernels = floats<functor::Logsigmoid>();
template <>
const ElementwiseKernels Elementwise<ops::Prelu>::kernels = numbers<functor::Prelu>();
template <>
const ElementwiseKernels Elementwise<ops::Relu>::kernels = numbers<functor::Relu>();
template <>
const ElementwiseKernels Elementwise<ops::Relu6>::kernels = numbers<functor::Relu6>();
template <>
const ElementwiseKernels Elementwise<ops::Sigmoid>::kernels = floats<functor::Sigmoid>();
template <>
const ElementwiseKernels Elementwise<ops::Silu>::kernels = floats<functor::Silu>();
template <>
const ElementwiseKernels Elementwise<ops::Softplus>::kernels = floats<functor::Softplus>();

}  // namespace mge::cuda
