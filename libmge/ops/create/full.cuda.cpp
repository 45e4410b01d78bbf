// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/full.h"

#include "libmge/kernel/cuda/copy/fill.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

struct Fill {
    int64_t count;
    int size;
    uint64_t element;
};

template <class Params>
Prepared prepare_fill(const PrepareContext& context) {
    auto& y = context.problem.outputs[0];
    double value = context.problem.as<Params>().value;
    return Prepared::make(Fill{y.numel(), int(size_of(y.dtype)), element_bytes(y.dtype, value)});
}

void run_fill(const Prepared& prepared, const Launch& launch) {
    auto& fill = prepared.state<Fill>();
    cuda::fill_elements(cuda::stream_of(launch), launch.outputs[0], fill.count, fill.size, fill.element);
}

}  // namespace

KernelList kernels(Cuda, Full) { return one_algorithm<prepare_fill<Full::Params>, run_fill>("fill"); }
KernelList kernels(Cuda, FullLike) { return one_algorithm<prepare_fill<FullLike::Params>, run_fill>("fill"); }

}  // namespace mge::ops
