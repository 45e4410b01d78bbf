// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/eye.h"

#include <algorithm>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/create/eye.cuda.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

void run_diagonal(const Prepared& prepared, const Launch& launch) {
    auto& y = prepared.state<ProblemState<Eye::Params>>().outputs[0];
    int64_t rows = y.shape[0], columns = y.shape[1];
    launch.queue->fill(launch.outputs[0], 0, y.bytes());
    if (int64_t count = std::min(rows, columns))
        cuda::fill_diagonal(cuda::stream_of(launch), launch.outputs[0], count, columns + 1,
                            int(size_of(y.dtype)), element_bytes(y.dtype, 1));
}

}  // namespace

KernelList kernels(Cuda, Eye) {
    return one_algorithm<copy_problem<Eye::Params>, run_diagonal>("fill_and_diagonal");
}

}  // namespace mge::ops
