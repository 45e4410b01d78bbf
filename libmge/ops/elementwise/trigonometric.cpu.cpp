// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Acos> : Costly<functor::Acos> {};
template <>
struct ElementwiseOf<Acosh> : Costly<functor::Acosh> {};
template <>
struct ElementwiseOf<Asin> : Costly<functor::Asin> {};
template <>
struct ElementwiseOf<Asinh> : Costly<functor::Asinh> {};
template <>
struct ElementwiseOf<Atan> : Costly<functor::Atan> {};
template <>
struct ElementwiseOf<Atan2> : Costly<functor::Atan2> {};
template <>
struct ElementwiseOf<Atanh> : Costly<functor::Atanh> {};
template <>
struct ElementwiseOf<Cos> : Costly<functor::Cos> {};
template <>
struct ElementwiseOf<Cosh> : Costly<functor::Cosh> {};
template <>
struct ElementwiseOf<Sin> : Costly<functor::Sin> {};
template <>
struct ElementwiseOf<Sinh> : Costly<functor::Sinh> {};
template <>
struct ElementwiseOf<Tan> : Costly<functor::Tan> {};
template <>
struct ElementwiseOf<Tanh> : Costly<functor::Tanh> {};

template KernelList kernels(Cpu, Acos);
template KernelList kernels(Cpu, Acosh);
template KernelList kernels(Cpu, Asin);
template KernelList kernels(Cpu, Asinh);
template KernelList kernels(Cpu, Atan);
template KernelList kernels(Cpu, Atan2);
template KernelList kernels(Cpu, Atanh);
template KernelList kernels(Cpu, Cos);
template KernelList kernels(Cpu, Cosh);
template KernelList kernels(Cpu, Sin);
template KernelList kernels(Cpu, Sinh);
template KernelList kernels(Cpu, Tan);
template KernelList kernels(Cpu, Tanh);

}  // namespace mge::ops
