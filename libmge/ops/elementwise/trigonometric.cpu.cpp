// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Acos) { return costly_elementwise<Acos, functor::Acos>(); }
KernelList kernels(Cpu, Acosh) { return costly_elementwise<Acosh, functor::Acosh>(); }
KernelList kernels(Cpu, Asin) { return costly_elementwise<Asin, functor::Asin>(); }
KernelList kernels(Cpu, Asinh) { return costly_elementwise<Asinh, functor::Asinh>(); }
KernelList kernels(Cpu, Atan) { return costly_elementwise<Atan, functor::Atan>(); }
KernelList kernels(Cpu, Atan2) { return costly_elementwise<Atan2, functor::Atan2>(); }
KernelList kernels(Cpu, Atanh) { return costly_elementwise<Atanh, functor::Atanh>(); }
KernelList kernels(Cpu, Cos) { return costly_elementwise<Cos, functor::Cos>(); }
KernelList kernels(Cpu, Cosh) { return costly_elementwise<Cosh, functor::Cosh>(); }
KernelList kernels(Cpu, Sin) { return costly_elementwise<Sin, functor::Sin>(); }
KernelList kernels(Cpu, Sinh) { return costly_elementwise<Sinh, functor::Sinh>(); }
KernelList kernels(Cpu, Tan) { return costly_elementwise<Tan, functor::Tan>(); }
KernelList kernels(Cpu, Tanh) { return costly_elementwise<Tanh, functor::Tanh>(); }

}  // namespace mge::ops
