// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused.cuda.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/select.h"

namespace mge::ops {
namespace {

constexpr unsigned threads = 256;

struct State {
    std::shared_ptr<const cuda::CompiledKernel> kernel;
    FusedPlan plan;
    unsigned grid;
};

bool are_aligned(const cuda::FusedArguments& arguments) {
    uintptr_t bits = reinterpret_cast<uintptr_t>(arguments.out);
    for (auto* address : arguments.in) bits |= reinterpret_cast<uintptr_t>(address);
    return bits % 16 == 0;
}

Support supports(const Problem& p) {
    return supports_fused(FusedProgram::parse(p.as<FusedElementwise::Params>().program), p);
}
Prepared prepare(const PrepareContext& context) {
    return prepare_fused(FusedProgram::parse(context.problem.as<FusedElementwise::Params>().program),
                         context);
}

constexpr Algorithm elementwise[] = {{"compiled", supports, prepare, run_fused}};

}  // namespace

Support supports_fused(const FusedProgram& program, const Problem& p) {
    if (auto& why = cuda::why_no_text_compiler(); !why.empty()) return {why.c_str()};
    if (auto plain = plain_layouts(p); !plain) return plain;
    return supports_fused_plan(program, p);
}

std::shared_ptr<const cuda::CompiledKernel> fused_kernel(const cuda::KernelText& text,
                                                         const std::string& name,
                                                         const PrepareContext& context) {
    return cuda::compile_kernel(text, name, device(context.problem.device).compute_capability(),
                                context.select ? context.select->together : nullptr);
}

Prepared prepare_fused(const FusedProgram& program, const PrepareContext& context) {
    auto plan = plan_fused(program, context.problem.inputs);
    int64_t pieces = ceil_div(plan.arguments.numel, plan.pack);
    auto kernel = fused_kernel(fused_text(plan), "fused", context);
    auto grid = cuda::bounded_blocks(ceil_div(pieces, threads));
    return Prepared::make(State{std::move(kernel), std::move(plan), grid});
}

cuda::FusedArguments fused_arguments(const FusedPlan& plan, const Launch& launch, int64_t elements) {
    cuda::FusedArguments arguments = plan.arguments;
    for (size_t i = 0; i < plan.reads.size(); ++i) arguments.in[i] = launch.inputs[plan.registers[i].origin];
    arguments.out = launch.outputs[0];
    arguments.packs = plan.pack > 1 && are_aligned(arguments) ? elements / plan.pack : 0;
    return arguments;
}

void run_fused(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    int64_t numel = state.plan.arguments.numel;
    if (numel == 0) return;
    cuda::FusedArguments arguments = fused_arguments(state.plan, launch, numel);
    state.kernel->launch(cuda::stream_of(launch), state.grid, threads, &arguments);
}

KernelList kernels(Cuda, FusedElementwise) { return elementwise; }

}  // namespace mge::ops
