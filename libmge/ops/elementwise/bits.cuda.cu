// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct BitwiseAnd;
struct BitwiseNot;
struct BitwiseOr;
struct BitwiseXor;
struct LeftShift;
struct LogicalAnd;
struct LogicalNot;
struct LogicalOr;
struct LogicalXor;
struct RightShift;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::BitwiseAnd>() {
    return integers<functor::BitwiseAnd>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::BitwiseNot>() {
    return integers<functor::BitwiseNot>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::BitwiseOr>() {
    return integers<functor::BitwiseOr>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::BitwiseXor>() {
    return integers<functor::BitwiseXor>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LeftShift>() {
    return integers<functor::LeftShift>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LogicalAnd>() {
    return bools<functor::LogicalAnd>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LogicalNot>() {
    return bools<functor::LogicalNot>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LogicalOr>() {
    return bools<functor::LogicalOr>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LogicalXor>() {
    return bools<functor::LogicalXor>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::RightShift>() {
    return integers<functor::RightShift>();
}

}  // namespace mge::cuda
