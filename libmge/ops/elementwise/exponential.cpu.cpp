// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Erf) { return costly_elementwise<Erf, functor::Erf>(); }
KernelList kernels(Cpu, Exp) { return costly_elementwise<Exp, functor::Exp>(); }
KernelList kernels(Cpu, Expm1) { return costly_elementwise<Expm1, functor::Expm1>(); }
KernelList kernels(Cpu, Log) { return costly_elementwise<Log, functor::Log>(); }
KernelList kernels(Cpu, Log1p) { return costly_elementwise<Log1p, functor::Log1p>(); }
KernelList kernels(Cpu, Logaddexp) { return costly_elementwise<Logaddexp, functor::Logaddexp>(); }
KernelList kernels(Cpu, Pow) { return costly_elementwise<Pow, functor::Pow>(); }

}  // namespace mge::ops
