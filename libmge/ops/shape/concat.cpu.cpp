// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/concat.h"

#include "libmge/kernel/cpu/strided_copy.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_parts(const PrepareContext& context) {
    auto& y = context.problem.outputs[0];
    int axis = normalize_axis(Concat::name, context.problem.as<Concat::Params>().axis, y.shape.rank());
    std::vector<StridedCopy> parts;
    StridedSide target{0, dense_strides(y.shape)};
    for (auto& x : context.problem.inputs) {
        parts.emplace_back(size_of(y.dtype), x.shape, StridedSide{0, dense_strides(x.shape)}, target);
        target.offset += x.shape[axis] * target.strides[size_t(axis)];
    }
    return Prepared::make(std::move(parts));
}

void run_parts(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<StridedCopy>>();
    for (size_t i = 0; i < parts.size(); ++i)
        parts[i].run(launch.inputs[i], launch.outputs[0], launch.threads);
}
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& parts = prepared.state<std::vector<StridedCopy>>();
    for (size_t i = 0; i < parts.size(); ++i) parts[i].run_naive(launch.inputs[i], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cpu, Concat) {
    static constexpr Algorithm list[] = {
        {"strided", plain_layouts, prepare_parts, run_parts},
        {"reference", plain_layouts, prepare_parts, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
