// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Equal;
struct Greater;
struct GreaterEqual;
struct IsInf;
struct IsNan;
struct Less;
struct LessEqual;
struct NotEqual;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::Equal>() {
    return questions<functor::Equal>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Greater>() {
    return questions<functor::Greater>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::GreaterEqual>() {
    return questions<functor::GreaterEqual>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::IsInf>() {
    return questions<functor::Isinf>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::IsNan>() {
    return questions<functor::Isnan>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Less>() {
    return questions<functor::Less>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LessEqual>() {
    return questions<functor::LessEqual>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::NotEqual>() {
    return questions<functor::NotEqual>();
}

}  // namespace mge::cuda
