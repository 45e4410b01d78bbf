// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Erf;
struct Exp;
struct Expm1;
struct Log;
struct Log1p;
struct Logaddexp;
struct Pow;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::Erf>() {
    return floats<functor::Erf>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Exp>() {
    return floats<functor::Exp>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Expm1>() {
    return floats<functor::Expm1>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Log>() {
    return floats<functor::Log>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Log1p>() {
    return floats<functor::Log1p>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Logaddexp>() {
    return floats<functor::Logaddexp>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Pow>() {
    return floats<functor::Pow>();
}

}  // namespace mge::cuda
