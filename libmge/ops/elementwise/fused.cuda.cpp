// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/device/cuda/runtime.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/text_compiler.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/elementwise/fused_text.cuda.h"

namespace mge::ops {
namespace {

constexpr unsigned threads = 256;
constexpr int64_t most_blocks = 1 << 20;

FusedProgram program_of(const Problem& p) {
    return FusedProgram::parse(p.as<FusedElementwise::Params>().program);
}

Support supports(const Problem& p) {
    if (auto& why = cuda::why_no_text_compiler(); !why.empty()) return {why.c_str()};
    if (auto plain = plain_layouts(p); !plain) return plain;
    auto program = program_of(p);
    return supports_fused_text(program, program.infer(p.inputs));
}

struct State {
    std::shared_ptr<const cuda::CompiledKernel> kernel;
    cuda::FusedArguments arguments;
    int pack;
    unsigned grid;
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto program = program_of(p);
    auto reads = fused_reads(p.inputs, p.outputs[0]);
    auto made = fused_text(program, program.infer(p.inputs), reads.reads);
    cuda::use_device(p.device.index);  // whose architecture the text is compiled for
    int64_t pieces = (reads.arguments.numel + made.pack - 1) / made.pack;
    auto grid = unsigned(std::clamp<int64_t>((pieces + threads - 1) / threads, 1, most_blocks));
    return Prepared::make(State{cuda::compile_kernel(made.text, "fused"), reads.arguments, made.pack, grid});
}

bool are_aligned(const cuda::FusedArguments& arguments) {
    uintptr_t bits = reinterpret_cast<uintptr_t>(arguments.out);
    for (auto* address : arguments.in) bits |= reinterpret_cast<uintptr_t>(address);
    return bits % 16 == 0;
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    if (state.arguments.numel == 0) return;
    cuda::FusedArguments arguments = state.arguments;
    std::ranges::copy(launch.inputs, arguments.in);
    arguments.out = launch.outputs[0];
    arguments.packs = are_aligned(arguments) && state.pack > 1 ? arguments.numel / state.pack : 0;
    state.kernel->launch(cuda::stream_of(launch), state.grid, threads, &arguments);
}

constexpr Algorithm elementwise[] = {{"compiled", supports, prepare, run}};

}  // namespace
}  // namespace mge::ops

namespace mge {

template <>
KernelList kernels(Cuda, ops::FusedElementwise) {
    return ops::elementwise;
}

}  // namespace mge
