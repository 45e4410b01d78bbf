// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/expand_weight.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/compressed/compressed_weight.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto& params = p.as<ExpandWeight::Params>();
    return Prepared::make(cuda::expand_arguments(
        compressed_weight(ExpandWeight::name, params.bits, params.group, params.columns, p.inputs[0],
                          p.inputs[1], p.has_input(2) ? p.inputs[2] : TensorSpec{})));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto x = prepared.state<cuda::ExpandArguments>();
    if (x.rows == 0) return;
    x.data = compressed_data(launch, 0);
    x.w = launch.out<float>(0);
    cuda::expand_weight(cuda::stream_of(launch), x);
}

}  // namespace

KernelList kernels(Cuda, ExpandWeight) { return one_algorithm<prepare, run>("elementwise"); }

}  // namespace mge::ops
