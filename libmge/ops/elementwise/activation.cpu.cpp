// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Gelu) { return costly_elementwise<Gelu, functor::Gelu>(); }
KernelList kernels(Cpu, GeluSlope) { return costly_elementwise<GeluSlope, functor::GeluSlope>(); }
KernelList kernels(Cpu, Hsigmoid) { return elementwise<Hsigmoid, functor::Hsigmoid>(); }
KernelList kernels(Cpu, Hswish) { return elementwise<Hswish, functor::Hswish>(); }
KernelList kernels(Cpu, LeakyRelu) { return elementwise<LeakyRelu, functor::LeakyRelu>(); }
KernelList kernels(Cpu, Logsigmoid) { return costly_elementwise<Logsigmoid, functor::Logsigmoid>(); }
KernelList kernels(Cpu, Prelu) { return elementwise<Prelu, functor::Prelu>(); }
KernelList kernels(Cpu, Relu) { return elementwise<Relu, functor::Relu>(); }
KernelList kernels(Cpu, Relu6) { return elementwise<Relu6, functor::Relu6>(); }
KernelList kernels(Cpu, Sigmoid) { return costly_elementwise<Sigmoid, functor::Sigmoid>(); }
KernelList kernels(Cpu, Silu) { return costly_elementwise<Silu, functor::Silu>(); }
KernelList kernels(Cpu, Softplus) { return costly_elementwise<Softplus, functor::Softplus>(); }

}  // namespace mge::ops
