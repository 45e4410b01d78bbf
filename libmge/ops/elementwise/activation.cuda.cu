// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Gelu;
struct GeluSlope;
struct Hsigmoid;
struct Hswish;
struct LeakyRelu;
struct Logsigmoid;
struct Prelu;
struct Relu;
struct Relu6;
struct Sigmoid;
struct Silu;
struct Softplus;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::Gelu>() {
    return floats<functor::Gelu>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::GeluSlope>() {
    return floats<functor::GeluSlope>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Hsigmoid>() {
    return floats<functor::Hsigmoid>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Hswish>() {
    return floats<functor::Hswish>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::LeakyRelu>() {
    return floats<functor::LeakyRelu>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Logsigmoid>() {
    return floats<functor::Logsigmoid>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Prelu>() {
    return numbers<functor::Prelu>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Relu>() {
    return numbers<functor::Relu>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Relu6>() {
    return numbers<functor::Relu6>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sigmoid>() {
    return floats<functor::Sigmoid>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Silu>() {
    return floats<functor::Silu>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Softplus>() {
    return floats<functor::Softplus>();
}

}  // namespace mge::cuda
