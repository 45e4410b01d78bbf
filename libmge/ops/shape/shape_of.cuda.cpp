// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/shape_of.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/shape/shape_of.cuda.h"

namespace mge::ops {
namespace {

Prepared prepare_extents(const PrepareContext& context) {
    auto& shape = context.problem.inputs[0].shape;
    int axis = context.problem.as<ShapeOf::Params>().axis;
    cuda::Extents extents{};
    for (int i = 0; i < shape.rank(); ++i)
        if (axis == -1 || axis == i) extents.extent[extents.count++] = int32_t(shape[i]);
    return Prepared::make(extents);
}

void run_extents(const Prepared& prepared, const Launch& launch) {
    cuda::store_extents(cuda::stream_of(launch), launch.out<int32_t>(0), prepared.state<cuda::Extents>());
}

}  // namespace

KernelList kernels(Cuda, ShapeOf) { return one_algorithm<prepare_extents, run_extents>("constant"); }

}  // namespace mge::ops
