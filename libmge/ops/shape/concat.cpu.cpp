// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/concat.h"

#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/cpu/rows/row_pieces.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

// --- rows: along an inner axis; short rows of the result are written as a whole ---

// Limit of a row of the result; longer ones are copied from one input after the other as fast.
constexpr int64_t most_row_bytes = 1 << 14;

int64_t joined_axis(const Problem& problem) {
    return normalize_axis(Concat::name, problem.as<Concat::Params>().axis, problem.outputs[0].shape.rank());
}

// From the axis that is joined on.
int64_t row_bytes(const TensorSpec& spec, int64_t axis) {
    int64_t elements = 1;
    for (auto i = int(axis); i < spec.shape.rank(); ++i) elements *= spec.shape[i];
    return elements * int64_t(size_of(spec.dtype));
}

Support supports_rows(const Problem& problem) {
    if (auto support = plain_layouts(problem); !support) return support;
    auto& y = problem.outputs[0];
    const int64_t bytes = row_bytes(y, joined_axis(problem));
    if (bytes > most_row_bytes) return {"short rows only"};
    if (int64_t(y.bytes()) <= bytes) return {"more rows than one only"};
    return supported;
}

Prepared prepare_rows(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& y = problem.outputs[0];
    const int64_t axis = joined_axis(problem), y_bytes = row_bytes(y, axis);
    std::vector<int64_t> x_bytes;
    for (auto& x : problem.inputs) x_bytes.push_back(row_bytes(x, axis));
    cpu::RowPieces rows(x_bytes, y_bytes, int64_t(y.bytes()) / y_bytes);
    for (size_t i = 0, to = 0; i < x_bytes.size(); to += size_t(x_bytes[i++]))
        rows.add(i, 0, int64_t(to), x_bytes[i]);
    return Prepared::make(std::move(rows));
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    prepared.state<cpu::RowPieces>().run(launch.inputs, launch.outputs[0], launch.threads);
}

// --- strided: a copy for each input ---

Prepared prepare_parts(const PrepareContext& context) {
    return Prepared::make(cpu::loops_of(plan_concat(context.problem)));
}

void run_parts(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<cpu::CopyLoops>>();
    for (size_t i = 0; i < parts.size(); ++i)
        parts[i].run(launch.inputs[i], launch.outputs[0], launch.threads);
}
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<cpu::CopyLoops>>();
    for (size_t i = 0; i < parts.size(); ++i) parts[i].run_naive(launch.inputs[i], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cpu, Concat) {
    static constexpr Algorithm list[] = {
        {"rows", supports_rows, prepare_rows, run_rows},
        {"strided", plain_layouts, prepare_parts, run_parts},
        {"reference", plain_layouts, prepare_parts, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
