// SPDX-License-Identifier: Apache-2.0
// A program whose result is reduced is one kernel, compiled while a program is; elements are added in the
// order of the operators on their own (kernel/cuda/reduce/plan_reduction.h).
#include "libmge/ops/elementwise/fused/fused_region.h"

#include "libmge/device/cuda/runtime.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/reduce/plan_reduction.h"
#include "libmge/ops/elementwise/fused/fused.cuda.h"
#include "libmge/ops/reduce/reduce.cuda.h"

namespace mge::ops {
namespace {

struct State {
    FusedPlan plan;
    cuda::FusedReduceArguments arguments;  // without addresses
    std::shared_ptr<const cuda::CompiledKernel> kernel, join;
};

FusedProgram program_of(const Problem& p) { return FusedProgram::parse(p.as<FusedRegion::Params>().program); }

std::string_view functor_of(const OpInfo& reduction) {
    if (&reduction == &Max::info) return "Extreme<true>";
    if (&reduction == &Min::info) return "Extreme<false>";
    return &reduction == &Prod::info ? "Multiplication" : "Addition";
}

const OpInfo* reduction_in(const Problem& p) { return reduction_of(p.as<FusedRegion::Params>()); }

Support supports_stored(const Problem& p) {
    if (reduction_in(p)) return {"the result is reduced"};
    return supports_fused(program_of(p), p);
}
Prepared prepare_stored(const PrepareContext& context) {
    return prepare_fused(program_of(context.problem), context);
}

Support supports_reduced(const Problem& p) {
    if (!reduction_in(p)) return {"the result is not reduced"};
    return supports_fused(program_of(p), p);
}

Prepared prepare_reduced(const PrepareContext& context) {
    auto& p = context.problem;
    auto& reduction = *reduction_in(p);
    State s{plan_fused(program_of(p), p.inputs), {}, {}, {}};
    auto& shape = s.plan.specs.back().shape;
    auto axes = reduce_params(p.as<FusedRegion::Params>()).axes;
    auto& x = s.arguments;
    x.geometry = cuda::plan_reduction(shape, reduced_axes(p.op, axes, shape.rank()), s.plan.pack);
    if (!x.geometry.is_packed) s.plan.pack = 1;
    x.y_type = cuda::type_index(p.outputs[0].dtype);
    x.divisor = &reduction == &Mean::info ? double(x.geometry.length) : 1;
    auto made = fused_text(s.plan, {functor_of(reduction), &reduction == &Mean::info, x.geometry.method});
    s.kernel = fused_kernel(made, "fused", context);
    if (x.geometry.pieces > 1) s.join = fused_kernel(made, "joined", context);
    size_t workspace = cuda::reduction_workspace(x.geometry, cuda::most_total_bytes);
    return Prepared::make(std::move(s), workspace);
}

void run_reduced(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& g = s.arguments.geometry;
    if (g.outputs == 0) return;
    cuda::FusedReduceArguments arguments = s.arguments;
    arguments.program = fused_arguments(s.plan, launch, s.plan.arguments.numel);
    arguments.totals = launch.workspace;
    auto stream = cuda::stream_of(launch);
    s.kernel->launch(stream, cuda::reduce_blocks(g, arguments.program.packs ? s.plan.pack : 1),
                     cuda::reduce_threads, &arguments);
    if (s.join) s.join->launch(stream, cuda::join_blocks(g), cuda::reduce_threads, &arguments);
}

constexpr Algorithm list[] = {{"compiled", supports_stored, prepare_stored, run_fused},
                              {"compiled_groups", supports_reduced, prepare_reduced, run_reduced}};

}  // namespace

KernelList kernels(Cuda, FusedRegion) { return list; }

}  // namespace mge::ops
