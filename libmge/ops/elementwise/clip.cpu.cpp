// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

KernelList kernels(Cpu, Clip) { return elementwise<Clip, functor::Clip>(); }

}  // namespace mge::ops
