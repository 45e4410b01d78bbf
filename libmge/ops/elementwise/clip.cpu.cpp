// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Clip> : Elementwise<functor::Clip> {
    static functor::Clip make(const Clip::Params& p) { return {p.lower, p.upper, p.keeps_nan}; }
};
template KernelList kernels(Cpu, Clip);

}  // namespace mge::ops
