// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Abs) { return elementwise<Abs, functor::Abs>(); }
KernelList kernels(Cpu, Add) { return elementwise<Add, functor::Add>(); }
KernelList kernels(Cpu, Ceil) { return elementwise<Ceil, functor::Ceil>(); }
KernelList kernels(Cpu, Div) { return elementwise<Div, functor::Div>(); }
KernelList kernels(Cpu, Floor) { return elementwise<Floor, functor::Floor>(); }
KernelList kernels(Cpu, FloorDiv) { return elementwise<FloorDiv, functor::FloorDiv>(); }
KernelList kernels(Cpu, Maximum) { return elementwise<Maximum, functor::Maximum>(); }
KernelList kernels(Cpu, Minimum) { return elementwise<Minimum, functor::Minimum>(); }
KernelList kernels(Cpu, Mod) { return costly_elementwise<Mod, functor::Mod>(); }
KernelList kernels(Cpu, Mul) { return elementwise<Mul, functor::Mul>(); }
KernelList kernels(Cpu, Neg) { return elementwise<Neg, functor::Neg>(); }
KernelList kernels(Cpu, Reciprocal) { return elementwise<Reciprocal, functor::Reciprocal>(); }
KernelList kernels(Cpu, Round) { return elementwise<Round, functor::Round>(); }
KernelList kernels(Cpu, RoundToEven) { return elementwise<RoundToEven, functor::RoundToEven>(); }
KernelList kernels(Cpu, Rsqrt) { return elementwise<Rsqrt, functor::Rsqrt>(); }
KernelList kernels(Cpu, Sign) { return elementwise<Sign, functor::Sign>(); }
KernelList kernels(Cpu, Sqrt) { return elementwise<Sqrt, functor::Sqrt>(); }
KernelList kernels(Cpu, Square) { return elementwise<Square, functor::Square>(); }
KernelList kernels(Cpu, Sub) { return elementwise<Sub, functor::Sub>(); }

}  // namespace mge::ops
