// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/map_bytes.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/map_bytes.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    return Prepared::make(context.problem.inputs[0].shape.numel());
}

void run(const Prepared& prepared, const Launch& launch) {
    if (int64_t numel = prepared.state<int64_t>())
        cuda::map_bytes(cuda::stream_of(launch), launch.in<uint8_t>(0), launch.in<uint8_t>(1),
                        launch.out<uint8_t>(0), numel);
}

}  // namespace

KernelList kernels(Cuda, MapBytes) { return one_algorithm<prepare, run>("elementwise"); }

}  // namespace mge::ops
