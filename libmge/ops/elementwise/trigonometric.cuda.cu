// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Acos;
struct Acosh;
struct Asin;
struct Asinh;
struct Atan;
struct Atan2;
struct Atanh;
struct Cos;
struct Cosh;
struct Sin;
struct Sinh;
struct Tan;
struct Tanh;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::Acos>() {
    return floats<functor::Acos>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Acosh>() {
    return floats<functor::Acosh>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Asin>() {
    return floats<functor::Asin>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Asinh>() {
    return floats<functor::Asinh>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Atan>() {
    return floats<functor::Atan>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Atan2>() {
    return floats<functor::Atan2>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Atanh>() {
    return floats<functor::Atanh>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Cos>() {
    return floats<functor::Cos>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Cosh>() {
    return floats<functor::Cosh>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sin>() {
    return floats<functor::Sin>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sinh>() {
    return floats<functor::Sinh>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Tan>() {
    return floats<functor::Tan>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Tanh>() {
    return floats<functor::Tanh>();
}

}  // namespace mge::cuda
