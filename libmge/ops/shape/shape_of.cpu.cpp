// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/shape_of.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

Prepared prepare_extents(const PrepareContext& context) {
    auto& shape = context.problem.inputs[0].shape;
    int axis = context.problem.as<ShapeOf::Params>().axis;
    std::vector<int32_t> extents;
    for (int i = 0; i < shape.rank(); ++i)
        if (axis == -1 || axis == i) extents.push_back(int32_t(shape[i]));
    return Prepared::make(std::move(extents));
}

void run_extents(const Prepared& prepared, const Launch& launch) {
    auto& extents = prepared.state<std::vector<int32_t>>();
    std::copy(extents.begin(), extents.end(), launch.out<int32_t>(0));
}

}  // namespace

KernelList kernels(Cpu, ShapeOf) { return one_algorithm<prepare_extents, run_extents>("reference"); }

}  // namespace mge::ops
