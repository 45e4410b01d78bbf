// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Erf> : Costly<functor::Erf> {};
template <>
struct ElementwiseOf<Exp> : Costly<functor::Exp> {};
template <>
struct ElementwiseOf<Expm1> : Costly<functor::Expm1> {};
template <>
struct ElementwiseOf<Log> : Costly<functor::Log> {};
template <>
struct ElementwiseOf<Log1p> : Costly<functor::Log1p> {};
template <>
struct ElementwiseOf<Logaddexp> : Costly<functor::Logaddexp> {};
template <>
struct ElementwiseOf<Pow> : Costly<functor::Pow> {};

template KernelList kernels(Cpu, Erf);
template KernelList kernels(Cpu, Exp);
template KernelList kernels(Cpu, Expm1);
template KernelList kernels(Cpu, Log);
template KernelList kernels(Cpu, Log1p);
template KernelList kernels(Cpu, Logaddexp);
template KernelList kernels(Cpu, Pow);

}  // namespace mge::ops
