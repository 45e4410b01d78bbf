// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Abs> : Elementwise<functor::Abs> {};
template <>
struct ElementwiseOf<Add> : Elementwise<functor::Add> {};
template <>
struct ElementwiseOf<Ceil> : Elementwise<functor::Ceil> {};
template <>
struct ElementwiseOf<Div> : Elementwise<functor::Div> {};
template <>
struct ElementwiseOf<Floor> : Elementwise<functor::Floor> {};
template <>
struct ElementwiseOf<FloorDiv> : Elementwise<functor::FloorDiv> {};
template <>
struct ElementwiseOf<Maximum> : Elementwise<functor::Maximum> {};
template <>
struct ElementwiseOf<Minimum> : Elementwise<functor::Minimum> {};
template <>
struct ElementwiseOf<Mod> : Costly<functor::Mod> {};
template <>
struct ElementwiseOf<Mul> : Elementwise<functor::Mul> {};
template <>
struct ElementwiseOf<Neg> : Elementwise<functor::Neg> {};
template <>
struct ElementwiseOf<Reciprocal> : Elementwise<functor::Reciprocal> {};
template <>
struct ElementwiseOf<Round> : Elementwise<functor::Round> {};
template <>
struct ElementwiseOf<RoundToEven> : Elementwise<functor::RoundToEven> {};
template <>
struct ElementwiseOf<Rsqrt> : Elementwise<functor::Rsqrt> {};
template <>
struct ElementwiseOf<Sign> : Elementwise<functor::Sign> {};
template <>
struct ElementwiseOf<Sqrt> : Elementwise<functor::Sqrt> {};
template <>
struct ElementwiseOf<Square> : Elementwise<functor::Square> {};
template <>
struct ElementwiseOf<Sub> : Elementwise<functor::Sub> {};

template KernelList kernels(Cpu, Abs);
template KernelList kernels(Cpu, Add);
template KernelList kernels(Cpu, Ceil);
template KernelList kernels(Cpu, Div);
template KernelList kernels(Cpu, Floor);
template KernelList kernels(Cpu, FloorDiv);
template KernelList kernels(Cpu, Maximum);
template KernelList kernels(Cpu, Minimum);
template KernelList kernels(Cpu, Mod);
template KernelList kernels(Cpu, Mul);
template KernelList kernels(Cpu, Neg);
template KernelList kernels(Cpu, Reciprocal);
template KernelList kernels(Cpu, Round);
template KernelList kernels(Cpu, RoundToEven);
template KernelList kernels(Cpu, Rsqrt);
template KernelList kernels(Cpu, Sign);
template KernelList kernels(Cpu, Sqrt);
template KernelList kernels(Cpu, Square);
template KernelList kernels(Cpu, Sub);

}  // namespace mge::ops
