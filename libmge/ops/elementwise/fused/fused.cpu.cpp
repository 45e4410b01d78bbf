// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/elementwise/fused/fused_blocks.cpu.h"

namespace mge::ops {
namespace {

constexpr int64_t elements_per_thread = 65536;  // steps * elements that are worth a second thread

FusedProgram program_of(const Problem& p) {
    return FusedProgram::parse(p.as<FusedElementwise::Params>().program);
}

Support supports_blocks(const Problem& p) { return BlockProgram::supports(p, program_of(p)); }

Prepared prepare_blocks(const PrepareContext& context) {
    BlockProgram program(context.problem, program_of(context.problem));
    size_t bytes = program.scratch_bytes() * size_t(context.problem.threads);
    return Prepared::make(std::move(program), bytes);
}

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& program = prepared.state<BlockProgram>();
    auto* scratch = static_cast<char*>(launch.workspace);
    int64_t numel = program.result().numel(), element = int64_t(size_of(program.result().dtype));
    int64_t blocks = ceil_div(numel, fused_block);
    bool is_small = numel * program.steps() < 2 * elements_per_thread || blocks < launch.threads;
    in_parts(is_small ? 1 : launch.threads, blocks, 1, [&](int part, int64_t first, int64_t last) {
        char* own = scratch + part * int64_t(program.scratch_bytes());
        for (int64_t b = first; b < last; ++b) {
            int64_t begin = b * fused_block;
            program.run(launch.inputs, begin, std::min(fused_block, numel - begin), own,
                        launch.out<char>(0) + begin * element);
        }
    });
}

Prepared prepare_reference(const PrepareContext& context) {
    return Prepared::make(ReferenceProgram(context.problem, program_of(context.problem)));
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto values = prepared.state<ReferenceProgram>().run(launch.inputs);
    if (!values.empty()) std::memcpy(launch.outputs[0], values.data(), values.size());
}

}  // namespace

KernelList kernels(Cpu, FusedElementwise) {
    static constexpr Algorithm list[] = {
        {"blocks", supports_blocks, prepare_blocks, run_blocks},
        {"reference", always, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
