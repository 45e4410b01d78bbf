// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/split.h"

#include "libmge/kernel/cpu/strided_copy.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_parts(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    int axis = normalize_axis(Split::name, context.problem.as<Split::Params>().axis, x.shape.rank());
    std::vector<StridedCopy> parts;
    StridedSide source{0, dense_strides(x.shape)};
    for (auto& y : context.problem.outputs) {
        parts.emplace_back(size_of(x.dtype), y.shape, source, StridedSide{0, dense_strides(y.shape)});
        source.offset += y.shape[axis] * source.strides[size_t(axis)];
    }
    return Prepared::make(std::move(parts));
}

void run_parts(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<StridedCopy>>();
    for (size_t i = 0; i < parts.size(); ++i)
        parts[i].run(launch.inputs[0], launch.outputs[i], launch.threads);
}
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<StridedCopy>>();
    for (size_t i = 0; i < parts.size(); ++i) parts[i].run_naive(launch.inputs[0], launch.outputs[i]);
}

}  // namespace

KernelList kernels(Cpu, Split) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_parts, run_parts},
        {"reference", plain_layouts, prepare_parts, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
