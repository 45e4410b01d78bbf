// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"

namespace mge::ops {

template <>
struct ElementwiseOf<Gelu> : Costly<functor::Gelu> {};
template <>
struct ElementwiseOf<GeluSlope> : Costly<functor::GeluSlope> {};
template <>
struct ElementwiseOf<Hsigmoid> : Elementwise<functor::Hsigmoid> {};
template <>
struct ElementwiseOf<Hswish> : Elementwise<functor::Hswish> {};
template <>
struct ElementwiseOf<LeakyRelu> : Elementwise<functor::LeakyRelu> {
    static functor::LeakyRelu make(const LeakyRelu::Params& p) { return {p.slope}; }
};
template <>
struct ElementwiseOf<Logsigmoid> : Costly<functor::Logsigmoid> {};
template <>
struct ElementwiseOf<Prelu> : Elementwise<functor::Prelu> {};
template <>
struct ElementwiseOf<Relu> : Elementwise<functor::Relu> {
    static functor::Relu make(const NanParams& p) { return {p.keeps_nan}; }
};
template <>
struct ElementwiseOf<Relu6> : Elementwise<functor::Relu6> {
    static functor::Relu6 make(const NanParams& p) { return {p.keeps_nan}; }
};
template <>
struct ElementwiseOf<Sigmoid> : Costly<functor::Sigmoid> {};
template <>
struct ElementwiseOf<Silu> : Costly<functor::Silu> {};
template <>
struct ElementwiseOf<Softplus> : Costly<functor::Softplus> {};

template KernelList kernels(Cpu, Gelu);
template KernelList kernels(Cpu, GeluSlope);
template KernelList kernels(Cpu, Hsigmoid);
template KernelList kernels(Cpu, Hswish);
template KernelList kernels(Cpu, LeakyRelu);
template KernelList kernels(Cpu, Logsigmoid);
template KernelList kernels(Cpu, Prelu);
template KernelList kernels(Cpu, Relu);
template KernelList kernels(Cpu, Relu6);
template KernelList kernels(Cpu, Sigmoid);
template KernelList kernels(Cpu, Silu);
template KernelList kernels(Cpu, Softplus);

}  // namespace mge::ops
