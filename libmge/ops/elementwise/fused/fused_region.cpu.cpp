// SPDX-License-Identifier: Apache-2.0
// The reduction is the one of kernel/cpu/reduce/reduce.h, which asks for its elements piece by piece; the
// program computes each piece when it is asked for. So a region gives the same bits as its operators one by
// one.
#include <algorithm>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/elementwise/fused/fused_blocks.cpu.h"
#include "libmge/ops/elementwise/fused/fused_region.h"

namespace mge::ops {
namespace {

constexpr size_t cache_line = 64;

size_t whole_lines(size_t bytes) { return round_up(bytes, cache_line); }

FusedProgram program_of(const Problem& p) { return FusedProgram::parse(p.as<FusedRegion::Params>().program); }

// The reduction of a program's result as a problem of its own.
struct ReduceProblem {
    const OpInfo& op;
    ReduceParams params;
    TensorSpec input;
    Problem problem;
    ReduceProblem(const Problem& p, const TensorSpec& result)
        : op(*reduction_of(p.as<FusedRegion::Params>())),
          params(reduce_params(p.as<FusedRegion::Params>())),
          input(result),
          problem(make_problem(op, &params, {&input, 1}, p.outputs)) {
        problem.device = p.device;
        problem.threads = p.threads;
    }
    ReduceProblem(const ReduceProblem&) = delete;
};

cpu::Reduction kind_of(const OpInfo& op) {
    if (&op == &Max::info) return cpu::Reduction::max;
    if (&op == &Min::info) return cpu::Reduction::min;
    return &op == &Prod::info ? cpu::Reduction::prod : cpu::Reduction::sum;
}

// --- blocks ---

struct RegionState {
    BlockProgram program;
    bool is_reduced = false;
    Prepared reduction;  // for the elements that the program gives
    size_t reduction_workspace = 0, values_at = 0, part_bytes = 0;

    int64_t element() const { return int64_t(size_of(program.result().dtype)); }
};

Support supports_blocks(const Problem& p) {
    if (auto plain = plain_layouts(p); !plain) return plain;
    return BlockProgram::supports(p, program_of(p));
}

Prepared prepare_blocks(const PrepareContext& context) {
    auto& p = context.problem;
    RegionState state{BlockProgram(p, program_of(p)), false, {}};
    state.values_at = whole_lines(state.program.scratch_bytes());
    state.part_bytes = state.values_at;
    if (reduction_of(p.as<FusedRegion::Params>())) {
        ReduceProblem reduce(p, state.program.result());
        state.is_reduced = true;
        auto axes = reduced_axes(reduce.op.name, reduce.params.axes, reduce.input.shape.rank());
        state.reduction =
            cpu::prepare_reduction(reduce.problem, axes, kind_of(reduce.op), &reduce.op == &Mean::info);
        state.reduction_workspace = whole_lines(state.reduction.workspace());
        state.part_bytes += whole_lines(size_t(cpu::longest_read * state.element()));
    }
    size_t bytes = state.reduction_workspace + state.part_bytes * size_t(p.threads);
    return Prepared::make(std::move(state), bytes);
}

// The sources of one run.
struct Source {
    const RegionState& state;
    const Launch& launch;

    char* scratch(int64_t part) const {
        return static_cast<char*>(launch.workspace) + state.reduction_workspace +
               size_t(part) * state.part_bytes;
    }
    void compute(int64_t part, int64_t begin, int64_t n, char* to) const {
        for (int64_t i = 0; i < n; i += fused_block)
            state.program.run(launch.inputs, begin + i, std::min(fused_block, n - i), scratch(part),
                              to + i * state.element());
    }
    static const void* read(const void* source, int part, int64_t begin, int64_t n) {
        auto& self = *static_cast<const Source*>(source);
        char* values = self.scratch(part) + self.state.values_at;
        self.compute(part, begin, n, values);
        return values;
    }
};

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<RegionState>();
    Source source{state, launch};
    if (state.is_reduced)
        return cpu::run_reduction(state.reduction, launch,
                                  {&source, Source::read, 1 + state.program.steps()});
    int64_t numel = state.program.result().numel(), blocks = ceil_div(numel, fused_block);
    int64_t block_work = fused_block * state.program.steps();
    in_parts(launch.threads, blocks, std::max<int64_t>(1, parallel_grain / block_work),
             [&](int part, int64_t begin, int64_t end) {
                 int64_t first = begin * fused_block, last = std::min(numel, end * fused_block);
                 source.compute(part, first, last - first, launch.out<char>(0) + first * state.element());
             });
}

// --- reference ---

struct ReferenceState {
    ReferenceProgram program;
    const Algorithm* reduce = nullptr;
    Prepared reduction;
};

Prepared prepare_reference(const PrepareContext& context) {
    auto& p = context.problem;
    ReferenceState state{ReferenceProgram(p, program_of(p)), nullptr, {}};
    if (reduction_of(p.as<FusedRegion::Params>())) {
        ReduceProblem reduce(p, state.program.result());
        state.reduce = &find_kernels(reduce.op, p.device).back();
        state.reduction = state.reduce->prepare({reduce.problem, {state.reduce->name, 0, {}}, {}});
    }
    return Prepared::make(std::move(state));
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ReferenceState>();
    auto values = state.program.run(launch.inputs);
    const void* data = values.data();
    if (state.reduce)
        state.reduce->run(state.reduction, {{&data, 1}, launch.outputs});
    else if (!values.empty())
        std::memcpy(launch.outputs[0], data, values.size());
}

}  // namespace

KernelList kernels(Cpu, FusedRegion) {
    static constexpr Algorithm list[] = {
        {"blocks", supports_blocks, prepare_blocks, run_blocks},
        {"reference", plain_layouts, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
