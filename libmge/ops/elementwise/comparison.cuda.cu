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
    return all_types<functor::Equal>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Greater>() {
    return all_types<functor::Greater>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::GreaterEqual>() {
    return all_types<functor::GreaterEqual>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::IsInf>() {
    return all_types<functor::IsInf>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::IsNan>() {
    return all_types<functor::IsNan>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Less>() {
    return all_types<functor::Less>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LessEqual>() {
    return all_types<functor::LessEqual>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::NotEqual>() {
    return all_types<functor::NotEqual>();
}

}  // namespace mge::cuda
