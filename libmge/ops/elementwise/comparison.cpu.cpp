// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Equal> : Elementwise<functor::Equal> {};
template <>
struct ElementwiseOf<Greater> : Elementwise<functor::Greater> {};
template <>
struct ElementwiseOf<GreaterEqual> : Elementwise<functor::GreaterEqual> {};
template <>
struct ElementwiseOf<IsInf> : Elementwise<functor::Isinf> {};
template <>
struct ElementwiseOf<IsNan> : Elementwise<functor::Isnan> {};
template <>
struct ElementwiseOf<Less> : Elementwise<functor::Less> {};
template <>
struct ElementwiseOf<LessEqual> : Elementwise<functor::LessEqual> {};
template <>
struct ElementwiseOf<NotEqual> : Elementwise<functor::NotEqual> {};

template KernelList kernels(Cpu, Equal);
template KernelList kernels(Cpu, Greater);
template KernelList kernels(Cpu, GreaterEqual);
template KernelList kernels(Cpu, IsInf);
template KernelList kernels(Cpu, IsNan);
template KernelList kernels(Cpu, Less);
template KernelList kernels(Cpu, LessEqual);
template KernelList kernels(Cpu, NotEqual);

}  // namespace mge::ops
