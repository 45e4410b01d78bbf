// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"
#include "libmge/ops/names.h"

namespace mge::cuda {

template <>
const ElementwiseKernels Elementwise<ops::BitwiseAnd>::kernels = integers<functor::BitwiseAnd>();
template <>
const ElementwiseKernels Elementwise<ops::BitwiseNot>::kernels = integers<functor::BitwiseNot>();
template <>
const ElementwiseKernels Elementwise<ops::BitwiseOr>::kernels = integers<functor::BitwiseOr>();
template <>
const ElementwiseKernels Elementwise<ops::BitwiseXor>::kernels = integers<functor::BitwiseXor>();
template <>
const ElementwiseKernels Elementwise<ops::LeftShift>::kernels = integers<functor::LeftShift>();
template <>
const ElementwiseKernels Elementwise<ops::LogicalAnd>::kernels = bools<functor::LogicalAnd>();
template <>
const ElementwiseKernels Elementwise<ops::LogicalNot>::kernels = bools<functor::LogicalNot>();
template <>
const ElementwiseKernels Elementwise<ops::LogicalOr>::kernels = bools<functor::LogicalOr>();
template <>
const ElementwiseKernels Elementwise<ops::LogicalXor>::kernels = bools<functor::LogicalXor>();
template <>
const ElementwiseKernels Elementwise<ops::RightShift>::kernels = integers<functor::RightShift>();

}  // namespace mge::cuda
