// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/dropout.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/dropout.cuda.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

struct DropOf {
    cuda::Drop drop;
    DType dtype;
};

Prepared prepare_drop(const PrepareContext& context) {
    double probability = context.problem.as<Dropout::Params>().probability;
    auto& x = context.problem.inputs[0];
    return Prepared::make(DropOf{{nullptr, unsigned(RandomStream::dropout), x.numel(),
                                  uint64_t(probability * 0x1p32), float(1 / (1 - probability))},
                                 x.dtype});
}

void run_drop(const Prepared& prepared, const Launch& launch) {
    auto [drop, dtype] = prepared.state<DropOf>();
    if (drop.count == 0) return;
    drop.state = launch.in<int32_t>(1);
    cuda::drop(cuda::stream_of(launch), cuda::type_index(dtype), drop, launch.inputs[0], launch.outputs[0],
               launch.outputs[1]);
}

}  // namespace

KernelList kernels(Cuda, Dropout) { return one_algorithm<prepare_drop, run_drop>("philox"); }

}  // namespace mge::ops
