// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<BitwiseAnd> : Elementwise<functor::BitwiseAnd> {};
template <>
struct ElementwiseOf<BitwiseNot> : Elementwise<functor::BitwiseNot> {};
template <>
struct ElementwiseOf<BitwiseOr> : Elementwise<functor::BitwiseOr> {};
template <>
struct ElementwiseOf<BitwiseXor> : Elementwise<functor::BitwiseXor> {};
template <>
struct ElementwiseOf<LeftShift> : Elementwise<functor::LeftShift> {};
template <>
struct ElementwiseOf<LogicalAnd> : Elementwise<functor::LogicalAnd> {};
template <>
struct ElementwiseOf<LogicalNot> : Elementwise<functor::LogicalNot> {};
template <>
struct ElementwiseOf<LogicalOr> : Elementwise<functor::LogicalOr> {};
template <>
struct ElementwiseOf<LogicalXor> : Elementwise<functor::LogicalXor> {};
template <>
struct ElementwiseOf<RightShift> : Elementwise<functor::RightShift> {};

template KernelList kernels(Cpu, BitwiseAnd);
template KernelList kernels(Cpu, BitwiseNot);
template KernelList kernels(Cpu, BitwiseOr);
template KernelList kernels(Cpu, BitwiseXor);
template KernelList kernels(Cpu, LeftShift);
template KernelList kernels(Cpu, LogicalAnd);
template KernelList kernels(Cpu, LogicalNot);
template KernelList kernels(Cpu, LogicalOr);
template KernelList kernels(Cpu, LogicalXor);
template KernelList kernels(Cpu, RightShift);

}  // namespace mge::ops
