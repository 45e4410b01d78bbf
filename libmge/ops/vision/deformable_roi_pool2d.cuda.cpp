// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/deformable_roi_pool2d.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/deformable_roi_pool2d.cuda.h"

namespace mge::ops {
namespace {

int64_t x_elements(const DeformablePooling& p) { return p.images * p.channels * p.height * p.width; }

Prepared prepare(const PrepareContext& context) {
    return Prepared::make(deformable_pooling(context.problem, 2));
}
Prepared prepare_backward(const PrepareContext& context) {
    auto p = deformable_pooling(context.problem, 3);
    return Prepared::make(p, cuda::FixedSums::workspace(x_elements(p)));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<DeformablePooling>();
    const float* offsets = p.parts ? launch.in<float>(2) : nullptr;
    cuda::deformable_pool(cuda::stream_of(launch), {p, launch.in<float>(0), launch.in<float>(1), offsets},
                          launch.out<float>(0));
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<DeformablePooling>();
    const float *dy = launch.in<float>(2), *offsets = p.parts ? launch.in<float>(3) : nullptr;
    cuda::DeformableArguments arguments{p, launch.in<float>(0), launch.in<float>(1), offsets};
    if (int64_t elements = x_elements(p)) {
        launch.queue->fill(launch.workspace, 0, cuda::FixedSums::workspace(elements));
        // Each sample of each cell adds to an element at most four times.
        int64_t terms = p.regions * p.rows * p.columns * p.samples * p.samples * 4;
        cuda::deformable_pool_dx(cuda::stream_of(launch), arguments, dy,
                                 cuda::FixedSums::in(launch.workspace, elements, terms),
                                 launch.out<float>(0));
    }
    if (p.parts) cuda::deformable_pool_doffsets(cuda::stream_of(launch), arguments, dy, launch.out<float>(1));
}

}  // namespace

KernelList kernels(Cuda, DeformableRoiPool2d) { return one_algorithm<prepare, run>("samples"); }
KernelList kernels(Cuda, DeformableRoiPool2dBackward) {
    return one_algorithm<prepare_backward, run_backward>("fixed_sums");
}

}  // namespace mge::ops
