// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, BitwiseAnd) { return elementwise<BitwiseAnd, functor::BitwiseAnd>(); }
KernelList kernels(Cpu, BitwiseNot) { return elementwise<BitwiseNot, functor::BitwiseNot>(); }
KernelList kernels(Cpu, BitwiseOr) { return elementwise<BitwiseOr, functor::BitwiseOr>(); }
KernelList kernels(Cpu, BitwiseXor) { return elementwise<BitwiseXor, functor::BitwiseXor>(); }
KernelList kernels(Cpu, LeftShift) { return elementwise<LeftShift, functor::LeftShift>(); }
KernelList kernels(Cpu, LogicalAnd) { return elementwise<LogicalAnd, functor::LogicalAnd>(); }
KernelList kernels(Cpu, LogicalNot) { return elementwise<LogicalNot, functor::LogicalNot>(); }
KernelList kernels(Cpu, LogicalOr) { return elementwise<LogicalOr, functor::LogicalOr>(); }
KernelList kernels(Cpu, LogicalXor) { return elementwise<LogicalXor, functor::LogicalXor>(); }
KernelList kernels(Cpu, RightShift) { return elementwise<RightShift, functor::RightShift>(); }

}  // namespace mge::ops
