// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/cumsum.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/reduce/cumsum.cuda.h"

namespace mge::ops {
namespace {

struct Scan {
    DType dtype;
    int64_t outer = 1, length = 1, inner = 1;
};

Prepared prepare_scan(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    int axis = normalize_axis(Cumsum::name, context.problem.as<Cumsum::Params>().axis, x.shape.rank());
    Scan scan{x.dtype, 1, x.shape[axis], 1};
    for (int i = 0; i < axis; ++i) scan.outer *= x.shape[i];
    for (int i = axis + 1; i < x.shape.rank(); ++i) scan.inner *= x.shape[i];
    return Prepared::make(scan);
}

void run_scan(const Prepared& prepared, const Launch& launch) {
    auto& scan = prepared.state<Scan>();
    if (scan.outer * scan.length * scan.inner == 0) return;
    cuda::cumsum(cuda::stream_of(launch), cuda::type_index(scan.dtype), launch.inputs[0], launch.outputs[0],
                 scan.outer, scan.length, scan.inner);
}

}  // namespace

KernelList kernels(Cuda, Cumsum) { return one_algorithm<prepare_scan, run_scan>("scan"); }

}  // namespace mge::ops
