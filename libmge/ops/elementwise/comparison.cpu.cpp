// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Equal) { return elementwise<Equal, functor::Equal>(); }
KernelList kernels(Cpu, Greater) { return elementwise<Greater, functor::Greater>(); }
KernelList kernels(Cpu, GreaterEqual) { return elementwise<GreaterEqual, functor::GreaterEqual>(); }
KernelList kernels(Cpu, IsInf) { return elementwise<IsInf, functor::Isinf>(); }
KernelList kernels(Cpu, IsNan) { return elementwise<IsNan, functor::Isnan>(); }
KernelList kernels(Cpu, Less) { return elementwise<Less, functor::Less>(); }
KernelList kernels(Cpu, LessEqual) { return elementwise<LessEqual, functor::LessEqual>(); }
KernelList kernels(Cpu, NotEqual) { return elementwise<NotEqual, functor::NotEqual>(); }

}  // namespace mge::ops
