// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.h"

#include "libmge/kernel/cpu/reduce/reduce.h"

namespace mge::ops {
namespace {

using cpu::Reduction;

auto axes_of(const Problem& p) {
    return reduced_axes(p.op, p.as<ReduceParams>().axes, p.inputs[0].shape.rank());
}
template <Reduction kind, bool is_mean>
Prepared prepare_passes(const PrepareContext& context) {
    return cpu::prepare_reduction(context.problem, axes_of(context.problem), kind, is_mean);
}
template <Reduction kind, bool is_mean>
Prepared prepare_reference(const PrepareContext& context) {
    return cpu::prepare_reference_reduction(context.problem, axes_of(context.problem), kind, is_mean);
}

template <Reduction kind, bool is_mean = false>
constexpr Algorithm algorithms[] = {
    {"passes", always, prepare_passes<kind, is_mean>, cpu::run_reduction},
    {"reference", always, prepare_reference<kind, is_mean>, cpu::run_reference_reduction, {.naive = true}}};

}  // namespace

KernelList kernels(Cpu, Max) { return algorithms<Reduction::max>; }
KernelList kernels(Cpu, Mean) { return algorithms<Reduction::sum, true>; }
KernelList kernels(Cpu, Min) { return algorithms<Reduction::min>; }
KernelList kernels(Cpu, Prod) { return algorithms<Reduction::prod>; }
KernelList kernels(Cpu, Sum) { return algorithms<Reduction::sum>; }

}  // namespace mge::ops
