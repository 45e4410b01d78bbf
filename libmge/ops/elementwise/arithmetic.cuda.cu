// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/elementwise.cuh"

namespace mge::ops {
struct Abs;
struct Add;
struct Ceil;
struct Div;
struct Floor;
struct FloorDiv;
struct Maximum;
struct Minimum;
struct Mod;
struct Mul;
struct Neg;
struct Reciprocal;
struct Round;
struct RoundToEven;
struct Rsqrt;
struct Sign;
struct Sqrt;
struct Square;
struct Sub;
}  // namespace mge::ops

namespace mge::cuda {

template <>
ElementwiseKernels elementwise_kernels<ops::Abs>() {
    return numbers<functor::Abs>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Add>() {
    return numbers<functor::Add>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Ceil>() {
    return numbers<functor::Ceil>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Div>() {
    return floats<functor::Div>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Floor>() {
    return numbers<functor::Floor>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::FloorDiv>() {
    return numbers<functor::FloorDiv>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Maximum>() {
    return numbers<functor::Maximum>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Minimum>() {
    return numbers<functor::Minimum>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Mod>() {
    return numbers<functor::Mod>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Mul>() {
    return numbers<functor::Mul>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Neg>() {
    return numbers<functor::Neg>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Reciprocal>() {
    return floats<functor::Reciprocal>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Round>() {
    return numbers<functor::Round>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::RoundToEven>() {
    return numbers<functor::RoundToEven>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Rsqrt>() {
    return floats<functor::Rsqrt>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sign>() {
    return numbers<functor::Sign>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sqrt>() {
    return floats<functor::Sqrt>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Square>() {
    return numbers<functor::Square>();
}
template <>
ElementwiseKernels elementwise_kernels<ops::Sub>() {
    return numbers<functor::Sub>();
}

}  // namespace mge::cuda
